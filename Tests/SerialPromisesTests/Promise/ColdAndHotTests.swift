import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// When the work of a promise begins.
struct ColdAndHotTests {
  private let begun = Log<Int>()

  /// A cold promise of 1, which notes that its work has begun.
  private func cold(isAsynchronous: Bool = false) -> Promise<Int> {
    guard isAsynchronous else {
      return Promise("cold", diagnostics: .silent) { [begun] resolve, _ in
        begun.append(1)
        resolve(1)
      }
    }
    return Promise("cold", diagnostics: .silent) { [begun] in
      begun.append(1)
      await Task.yield()
      return 1
    }
  }

  // Fails if creating, naming, chaining or reading the state begins the work.
  @Test(
    "a cold promise does nothing until it is demanded", .shows(Promising.cold),
    arguments: [false, true])
  func idle(isAsynchronous: Bool) async {
    let promise = cold(isAsynchronous: isAsynchronous)
    _ = promise.map { $0 + 1 }.map { $0 }.finally {}
    promise.fulfilled { _ in }.failed { _ in }.progressed { _ in }
    #expect(text(promise.state) == "pending")
    await Promise.value(0).waitForHandlers()
    #expect(promise.progress == 0 && begun.count == 0)
  }

  // Hangs if one of the demands does not start the task; fails if it starts it a second time.
  @Test(
    "a promise is started once, by anything that demands its value",
    .shows(Promising.cold, .awaiting), arguments: Demand.allCases, [false, true])
  func started(_ demand: Demand, isAsynchronous: Bool) async {
    let (promise, done) = (cold(isAsynchronous: isAsynchronous), Gate())
    // Does not start it.
    promise.fulfilled { _ in done.open() }
    for _ in 1...2 {
      demand.make(promise)
      await done.passed()
      await promise.waitForHandlers()
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
