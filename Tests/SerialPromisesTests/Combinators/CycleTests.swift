import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Promises that wait for themselves, by way of others.
///
/// Each overflows the stack, or never ends, if `Core.adopt` does not look for cycles.
@Suite(.allShow(Promising.resolution)) struct CycleTests {
  private static func isCycle(_ outcome: String) -> Bool {
    outcome.hasPrefix("failed ") && outcome.contains("was resolved with itself")
  }

  /// How a cycle is looked at while it is there.
  enum Look: String, CaseIterable, CustomTestStringConvertible {
    case none, progress, progressed, listened, step

    var testDescription: String { rawValue }

    func look<Value>(at promise: Promise<Value>) {
      switch self {
      case .none, .listened: break
      case .progress: _ = promise.progress
      case .progressed: promise.progressed { _ in }
      case .step: PromiseManager().add(promise)
      }
    }
  }

  // Fails, with a crash, if nothing finds the way through the combination.
  @Test("a deferred resolved with a combination of its own promise fails", arguments: Look.allCases)
  func combination(_ look: Look) async {
    let deferred = Deferred<Int>("d")
    let all = when([deferred.promise.map { $0 }]).map { $0.count }
    if look == .listened { all.progressed { _ in } }
    all.relay(to: deferred)
    look.look(at: all)
    let error = PromiseError.resolvedWithItself(deferred.promise.core.origin.identity)
    #expect(await deferred.promise.outcome == "failed \(error)")
    #expect(await Self.isCycle(all.outcome.replacing("the promise at 0 failed: ", with: "")))
  }

  // Fails, by the time limit, if a promise that waits in a manager is not followed.
  @Test("a deferred resolved with a serial run of its own promise fails")
  func serially() async {
    let deferred = Deferred<[Int]>("d")
    let all = PromiseManager().serially([deferred.promise.map { $0.count }])
    all.relay(to: deferred)
    #expect(await Self.isCycle(deferred.promise.outcome))
  }

  // Fails, by the time limit, if the second is not found.
  @Test("two promises that are resolved with one another fail")
  func mutual() async {
    let (first, second) = (Deferred<Int>("first"), Deferred<Int>("second"))
    first.promise.relay(to: second)
    second.promise.relay(to: first)
    #expect(await Self.isCycle(first.promise.outcome))
    #expect(await Self.isCycle(second.promise.outcome))
  }

  // Fails, with a crash, if a handler's promise is not looked at.
  @Test(
    "a handler that returns a combination of its own promise fails it", arguments: [false, true])
  func handler(isWatched: Bool) async {
    let (place, gate) = (Locked<Promise<Int>?>(nil), Gate())
    let promise = Promise.value(1).then { value in
      gate.block()
      guard let promise = place.withLock({ $0.take() }) else { throw Failed() }
      return when([promise, .value(value)]).map { $0.count }
    }
    if isWatched { promise.progressed { _ in } }
    place.withLock { $0 = promise }
    gate.open()
    #expect(await Self.isCycle(promise.outcome))
  }

  // Fails, by the time limit, if `Pull.begin` does not look.
  @Test("when(concurrently:) that pulls a promise that waits for it fails")
  func pulling() async {
    let place = Locked<Promise<[Int]>?>(nil)
    let promises = (0..<3).lazy.map { index in
      guard index == 1, let all = place.withLock({ $0.take() }) else { return Promise.value(index) }
      return all.map { $0.count }
    }
    let all = when(promises, concurrently: 2)
    place.withLock { $0 = all }
    #expect(await all.outcome.hasPrefix("failed the promise at 1 failed: "))
  }

  // Fails, by the time limit, if a combination that pulls does not say what it waits for.
  @Test("a promise that when(concurrently:) has pulled, resolved with what waits for it, fails")
  func pulled() async {
    let deferred = Deferred<Int>("pulled")
    let all = when([deferred.promise].lazy.map { $0 }, concurrently: 1).start()
    all.map { $0.count }.relay(to: deferred)
    #expect(await Self.isCycle(deferred.promise.outcome))
    #expect(await all.outcome.hasPrefix("failed the promise at 0 failed: "))
  }

  // Fails if a promise that is waited for twice is taken for one that waits for itself.
  @Test("a promise that waits for another in two ways is no cycle")
  func diamond() async {
    let (source, target) = (Deferred<Int>(), Deferred<Int>())
    let both = when([source.promise.map { $0 + 1 }, source.promise.map { $0 + 2 }])
    when([both.map { $0[0] }, both.map { $0[1] }, source.promise]).map { $0.reduce(0, +) }
      .relay(to: target)
    source.fulfill(1)
    #expect(await target.promise.outcome == "6")
  }

  // Fails, by the time limit, if the search ends before a long way does.
  @Test("a cycle of many links and combinations is found from its end")
  func long() async {
    let deferred = Deferred<Int>("long")
    var last = deferred.promise
    for _ in 0..<1000 { last = when(last.map { $0 }, Promise.value(1)).map { $0.0 } }
    last.relay(to: deferred)
    #expect(await Self.isCycle(deferred.promise.outcome))
  }

  // Fails, by the time limit, if the threads look before each can see what the other has done.
  @Test("two threads that close a cycle from both ends at the same time make it fail")
  func threads() async {
    for _ in 0..<(isLong ? 100_000 : 1000 / ease) {
      let first = Deferred<Int>(diagnostics: .silent)
      let second = Deferred<Int>(diagnostics: .silent)
      DispatchQueue.concurrentPerform(iterations: 2) { index in
        if index == 0 {
          when([first.promise]).map { $0[0] }.relay(to: second)
        } else {
          second.promise.map { $0 }.relay(to: first)
        }
      }
      #expect(await first.promise.outcome.hasPrefix("failed "))
      #expect(await second.promise.outcome.hasPrefix("failed "))
    }
  }

  // Fails if promises that were resolved with one another hold one another for ever.
  @Test("promises that were resolved with one another are released", .shows(Promising.noLeaks))
  func leaks() async {
    let (one, two) = await {
      let (first, second) = (Deferred<Int>(), Deferred<Int>())
      first.promise.relay(to: second)
      second.promise.relay(to: first)
      _ = await first.promise.outcome
      _ = await second.promise.outcome
      return (Watched(first.promise.core), Watched(second.promise.core))
    }()
    while !(one.isGone && two.isGone), !Task.isCancelled { await Task.yield() }
    #expect(one.isGone && two.isGone)
  }

  // Fails, by taking hours, if each adoption looks at all that the adopted promise waits for.
  @Test("very many promises, each resolved with the one before, take time in proportion")
  func backwards() async {
    let count = 100_000 / ease
    let first = Deferred<Int>()
    var last = first.promise
    for _ in 0..<count {
      let next = Deferred<Int>()
      last.relay(to: next)
      last = next.promise
    }
    first.fulfill(5)
    #expect(await last.outcome == "5")
  }
}
