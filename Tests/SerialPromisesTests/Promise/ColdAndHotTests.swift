import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// When a promise's work begins.
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
      await promise.told()
    }
  }

  // Fails if making, naming, chaining or looking begins the work.
  @Test("a cold promise does nothing until it is demanded", .shows(Promising.cold))
  func cold() async {
    let log = Log<Int>()
    let promise = Promise<Int>("cold") { resolve, _ in
      log.append(1)
      resolve(1)
    }
    _ = promise.map { $0 + 1 }.map { $0 }.finally {}
    promise.fulfilled { _ in }.failed { _ in }.progressed { _ in }
    #expect(text(promise.state) == "pending")
    #expect(promise.progress == 0)
    await Promise.value(0).told()
    #expect(log.count == 0)
  }

  // Fails if one of the ways does not start the task, or starts it a second time.
  @Test(
    "it is started by anything that wants its value, once", .shows(Promising.cold),
    arguments: Demand.allCases)
  func started(_ demand: Demand) async {
    let log = Log<Int>()
    let promise = Promise<Int> { resolve, _ in
      log.append(1)
      resolve(5)
    }
    await demand.make(promise)
    #expect(log.count == 1)
    #expect(text(promise.state) == "5")
    await demand.make(promise)
    #expect(log.count == 1)
  }

  // Fails if two threads can both find the recipe.
  @Test("its task runs once, however many threads demand it", .shows(Promising.cold))
  func once() async {
    let rounds = isLong ? 10_000 : 200
    tally(rounds)
    for _ in 0..<rounds {
      let log = Log<Int>()
      let promise = Promise<Int> { resolve, _ in
        log.append(1)
        resolve(1)
      }
      onThreads(4) { _ in promise.map { $0 }.start() }
      #expect(await promise.outcome == "1")
      #expect(log.count == 1)
    }
  }

  // Fails if a chain starts its source when it is made, or its last link does not when demanded.
  @Test(
    "a chain is cold too, and demanding its last link starts the first",
    .shows(Promising.coldChains))
  func chain() async {
    let log = Log<String>()
    let first = Promise<Int> { resolve, _ in
      log.append("task")
      resolve(1)
    }
    let last = first.map { $0 + 1 }.map { $0 * 10 }.tap { log.append("\($0)") }
    await Promise.value(0).told()
    #expect(log.count == 0)
    #expect(await last.outcome == "20")
    #expect(log.all == ["task", "success(20)"])
  }

  // Fails if a cold promise that a handler returns is waited for without being started.
  @Test("a cold promise that a handler returns is started")
  func returned() async {
    let inner = Promise<Int> { resolve, _ in resolve(2) }
    #expect(await Promise.value(1).then { _ in inner }.outcome == "2")
  }

  // Fails if the asynchronous initialiser is not cold, or loses its outcome.
  @Test("asynchronous work is cold, runs once, and settles the promise", .shows(Promising.awaiting))
  func asynchronous() async {
    let log = Log<Int>()
    let promise = Promise<Int> {
      log.append(1)
      await Task.yield()
      return 3
    }
    await Promise.value(0).told()
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

  // Fails if asynchronous work leaves the actor that its closure belongs to.
  @Test("asynchronous work of the main actor runs there")
  func asynchronousOnMain() async {
    let promise = Promise<Bool> { @MainActor in onMainActor() }
    #expect(await promise.outcome == "true")
  }

  // Fails if one of these waits to be demanded.
  @Test("a hot promise's work begins when it is made", .shows(Promising.hot))
  func hot() async {
    #expect(text(Promise.value(1).state) == "1")
    #expect(text(Promise<Int>.failure(Failed()).state) == "failed Failed(number: 0)")
  }

  // Fails if the work does not run on that queue, or what it throws is lost.
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

  // Fails if the time is not counted from the call, or the clock is not the one given.
  @Test("a value or an error is there after some time", .shows(Promising.hot))
  func after() async {
    let clock = ManualClock()
    let promise = Promise.value(1, after: .seconds(10), clock: clock)
    await clock.slept.passed()
    #expect(text(promise.state) == "pending")
    clock.advance(by: .seconds(10))
    #expect(await promise.outcome == "1")
    let later = ManualClock()
    let failing = Promise<Int>.failure(Failed(), after: .seconds(1), clock: later)
    await later.slept.passed()
    later.advance(by: .seconds(1))
    #expect(await failing.outcome == "failed Failed(number: 0)")
  }

  // Fails if such a promise cannot be cancelled.
  @Test("a value that is there after some time can be cancelled before")
  func afterCancelled() async {
    let promise = Promise.value(1, after: .seconds(10), clock: ManualClock())
    #expect(promise.cancel())
    #expect(await promise.outcome == "failed CancellationError()")
  }
}
