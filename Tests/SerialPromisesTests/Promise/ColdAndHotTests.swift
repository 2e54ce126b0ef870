import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// When the work of a promise begins.
struct ColdAndHotTests {
  /// Ways to demand a promise.
  enum Demand: String, CaseIterable, Sendable {
    case start, value, wait, manager, derived, adopted, callback

    func make(_ promise: Promise<Int>) async {
      switch self {
      case .start: promise.start()
      case .value: _ = try? await promise.value
      case .wait: onThread { _ = try? promise.wait() }
      case .manager:
        let manager = PromiseManager()
        manager.add(promise)
        await manager.idle()
      case .derived: promise.map { $0 }.map { $0 }.recover { _ in 0 }.start()
      case .adopted: _ = await Promise.value(0).then { _ in promise }.outcome
      case .callback: promise.fulfilled { _ in }.start()
      }
      await promise.waitForHandlers()
    }
  }

  private let begun = Log<Int>()

  /// A cold promise of 1, which notes that its work has begun.
  private func cold() -> Promise<Int> {
    Promise<Int>("cold", diagnostics: .silent) { [begun] resolve, _ in
      begun.append(1)
      resolve(1)
    }
  }

  // Fails if creating, naming, chaining or reading the state begins the work.
  @Test("a cold promise does nothing until it is demanded", .shows(Promising.cold))
  func idle() async {
    let promise = cold()
    _ = promise.map { $0 + 1 }.map { $0 }.finally {}
    promise.fulfilled { _ in }.failed { _ in }.progressed { _ in }
    #expect(text(promise.state) == "pending")
    await Promise.value(0).waitForHandlers()
    #expect(promise.progress == 0 && begun.count == 0)
  }

  // Fails if one of the demands does not start the task, or starts it a second time.
  @Test(
    "a promise is started once, by anything that demands its value", .shows(Promising.cold),
    arguments: Demand.allCases)
  func started(_ demand: Demand) async {
    let promise = cold()
    for _ in 1...2 {
      await demand.make(promise)
      #expect(begun.count == 1 && text(promise.state) == "1")
    }
  }

  // Fails if two threads can both take the task.
  @Test("the task of a promise runs once, however many threads demand it", .shows(Promising.cold))
  func once() async {
    let rounds = isLong ? 10_000 : 200
    tally(rounds)
    for round in 1...rounds {
      let promise = cold()
      onThreads(4) { _ in promise.map { $0 }.start() }
      #expect(await promise.outcome == "1")
      #expect(begun.count == round)
    }
  }

  // Fails if a chain starts its source when it is created, or its last link does not on demand.
  @Test(
    "a chain is cold too, and demanding its last link starts the first",
    .shows(Promising.coldChains))
  func chain() async {
    let last = cold().map { $0 + 1 }.map { $0 * 10 }.tap { [begun] _ in begun.append(2) }
    await Promise.value(0).waitForHandlers()
    #expect(begun.count == 0)
    #expect(await last.outcome == "20")
    #expect(begun.all == [1, 2])
  }

  // Fails if the asynchronous initializer is not cold, or loses its outcome.
  @Test("asynchronous work is cold, runs once, and settles the promise", .shows(Promising.awaiting))
  func asynchronous() async {
    let log = Log<Int>()
    let promise = Promise<Int> {
      log.append(1)
      await Task.yield()
      return 3
    }
    await Promise.value(0).waitForHandlers()
    #expect(log.count == 0)
    #expect(await promise.outcome == "3")
    #expect(await promise.outcome == "3")
    #expect(log.count == 1)
    let failing = Promise<Int> {
      await Task.yield()
      throw Failed(number: 4)
    }
    #expect(await failing.outcome == "failed Failed(number: 4)")
  }

  // Fails if asynchronous work leaves the actor of its closure.
  @Test("asynchronous main-actor work runs on the main actor")
  func asynchronousOnMain() async {
    let promise = Promise<Bool> { @MainActor in onMainActor() }
    #expect(await promise.outcome == "true")
  }

  // Fails if one of these promises waits for a demand.
  @Test("a hot promise's work begins when it is created", .shows(Promising.hot))
  func hot() async {
    #expect(text(Promise.value(1).state) == "1")
    #expect(text(Promise<Int>.failure(Failed()).state) == "failed Failed(number: 0)")
  }

  // Fails if the work does not run on that queue, or its error is lost.
  @Test("work on a queue begins at once and settles the promise", .shows(Promising.hot))
  func onQueue() async {
    let key = DispatchSpecificKey<Int>()
    let queue = DispatchQueue(label: "work")
    queue.setSpecific(key: key, value: 1)
    let done = Gate()
    let promise = Promise.on(queue) {
      done.open()
      return DispatchQueue.getSpecific(key: key) ?? 0
    }
    await done.passed()
    #expect(await promise.outcome == "1")
    let failing = Promise<Int>.on(queue) { throw Failed() }
    #expect(await failing.outcome == "failed Failed(number: 0)")
  }
}
