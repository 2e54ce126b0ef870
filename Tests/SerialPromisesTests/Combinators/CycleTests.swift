import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Promises that wait for themselves through other promises.
///
/// Each test overflows the stack or hangs if `Core.adopt` does not detect cycles.
@Suite(.allShow(Promising.resolution)) struct CycleTests {
  private static func isCycle(_ outcome: String) -> Bool {
    outcome.hasPrefix("failed ") && outcome.contains("was resolved with itself")
  }

  /// A promise that waits for another one.
  enum Dependent: String, CaseIterable {
    case combination, serially, pulling, manyLinks

    func waiting(for promise: Promise<Int>) -> Promise<Int> {
      switch self {
      case .combination: return when([promise.map { $0 }]).map { $0.count }
      case .serially: return PromiseManager().serially([promise]).map { $0.count }
      case .pulling:
        return when([promise].lazy.map { $0 }, concurrently: 1).start().map { $0.count }
      case .manyLinks:
        return (0..<1000).reduce(promise) { last, _ in
          when(last.map { $0 }, Promise.value(1)).map { $0.0 }
        }
      }
    }
  }

  /// An operation on a promise that is part of a cycle.
  enum Observation: String, CaseIterable {
    case none, progress, progressed, listened, step

    func apply<Value>(to promise: Promise<Value>) {
      switch self {
      case .none, .listened: break
      case .progress: _ = promise.progress
      case .progressed: promise.progressed { _ in }
      case .step: PromiseManager().add(promise)
      }
    }
  }

  // Crashes or times out if cycle detection does not follow the combination, a promise that waits
  // in a manager, or what a pulling combination waits for, or stops before the end of a long path.
  @Test(
    "a deferred that is resolved with a promise that waits for it fails, and so does that promise",
    arguments: Dependent.allCases, Observation.allCases)
  func deferred(_ dependent: Dependent, _ observation: Observation) async {
    let deferred = Deferred<Int>("d")
    let waiting = dependent.waiting(for: deferred.promise)
    if observation == .listened { waiting.progressed { _ in } }
    waiting.relay(to: deferred)
    observation.apply(to: waiting)
    let cause = await waiting.outcome.replacing("the promise at 0 failed: ", with: "")
    #expect(Self.isCycle(cause))
    let outcome = await deferred.promise.outcome
    #expect(Self.isCycle(outcome.replacing("the promise at 0 failed: ", with: "")))
    if dependent == .combination { #expect(outcome == deferred.promise.resolvedWithItself) }
  }

  // Crashes if the promise of a handler is not checked.
  @Test(
    "a handler that returns a combination of its own promise fails the promise",
    arguments: [false, true])
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

  // Times out if `Pull.begin` does not check for a cycle.
  @Test("when(concurrently:) fails if it pulls a promise that waits for it")
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

  // Fails if a promise that is awaited twice is treated as a cycle.
  @Test("a promise that waits for another one in two ways is not a cycle")
  func diamond() async {
    let (source, target) = (Deferred<Int>(), Deferred<Int>())
    let both = when([source.promise.map { $0 + 1 }, source.promise.map { $0 + 2 }])
    when([both.map { $0[0] }, both.map { $0[1] }, source.promise]).map { $0.reduce(0, +) }
      .relay(to: target)
    source.fulfill(1)
    #expect(await target.promise.outcome == "6")
  }

  // Times out if each thread checks for a cycle before it can see the other's resolution.
  @Test("a cycle that two threads close from both ends at the same time fails")
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

  // Times out if the second resolution does not detect the cycle; fails if the promises retain each
  // other.
  @Test(
    "two promises that are resolved with each other fail, and are released",
    .shows(Promising.noLeaks))
  func leaks() async {
    let (one, two) = await {
      let (first, second) = (Deferred<Int>(), Deferred<Int>())
      first.promise.relay(to: second)
      second.promise.relay(to: first)
      #expect(await Self.isCycle(first.promise.outcome))
      #expect(await Self.isCycle(second.promise.outcome))
      return (Watched(first.promise.core), Watched(second.promise.core))
    }()
    while !(one.isGone && two.isGone), !Task.isCancelled { await Task.yield() }
    #expect(one.isGone && two.isGone)
  }

  // Takes hours if each adoption visits everything that the adopted promise waits for.
  @Test("resolving each of many promises with the preceding one takes linear time")
  func backwards() async {
    let count = (isLong ? 100_000 : 30_000) / ease
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
