import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Deeply nested combinations on a stack of 512 KB.
///
/// Each test overflows the stack, and ends the whole run, if the code is recursive.
@Suite(.allShow(Promising.stack)) struct NestedStackTests {
  private let depth = isLong ? 100_000 : 6_000 / min(ease, 2)

  private func onSmallStack(_ body: @escaping @Sendable (_ depth: Int) -> Void) {
    onThread(stackSize: 512 * 1024) { [depth] in body(depth) }
  }

  /// A combination of a combination and another promise, and so on.
  private static func nest(
    _ depth: Int, on first: Promise<Int>, _ other: () -> Promise<Int> = { .value(1) }
  ) -> Promise<Int> {
    var last = first
    for index in 0..<depth {
      switch index % 3 {
      case 0: last = when([last, other()]).map { $0[0] }
      case 1: last = when(last, other()).map { $0.0 }
      default: last = Promise.race([last, Deferred<Int>.never.promise])
      }
    }
    return last
  }

  // Overflows the stack if `ProgressWalk`, `watch` or the settlement is recursive.
  @Test("nested combinations have progress and listeners, and can be fulfilled")
  func progress() {
    onSmallStack { depth in
      let (deferred, received) = (Deferred<Int>(), DispatchSemaphore(value: 0))
      let nest = Self.nest(depth, on: deferred.promise)
      deferred.progress(0.5)
      #expect(nest.progress > 0)
      nest.progressed { _ in received.signal() }
      received.wait()
      deferred.fulfill(7)
      #expect((try? nest.wait()) == 7)
    }
  }

  // Fails if each combination visits all promises that the inner ones wait for.
  @Test("listening to nested combinations visits each promise once")
  func visits() {
    let deferred = Deferred<Int>()
    let nest = Self.nest(3000, on: deferred.promise)
    var walk = ProgressWalk()
    _ = walk.progress(of: nest.core)
    // Each level has the combination, a link, and another promise.
    #expect(walk.visits <= 9001)
    #expect(nest.core.watch() <= 9001)
    let later = Self.nest(3, on: nest)
    #expect(later.core.watch() <= 10)
    deferred.fulfill(1)
  }

  // Hangs if a promise is visited once for each path to it.
  @Test("a promise that is repeatedly combined with itself is visited once")
  func diamonds() {
    let deferred = Deferred<Int>()
    var last = deferred.promise
    for _ in 0..<1000 { last = when([last, last]).map { $0[0] } }
    deferred.progress(0.5)
    #expect(last.progress == 0.5)
    deferred.fulfill(1)
  }

  // Overflows the stack if the demand, or `Restart`, is recursive.
  @Test("nested cold combinations are started from their end, and restarted")
  func cold() {
    onSmallStack { depth in
      let attempts = Locked(0)
      let first = Promise<Int> { resolve, reject in
        if attempts.next() == 1 { reject(Failed()) } else { resolve(7) }
      }
      let nest = Self.nest(depth, on: first) { Promise<Int> { resolve, _ in resolve(1) } }
      #expect((try? nest.retry(1).wait()) == 7)
    }
  }

  // Overflows the stack if `Lifeline` or its dependents are released recursively.
  @Test("nested cold combinations are released after a start, a cancellation, or neither")
  func release() {
    onSmallStack { depth in
      let released = DispatchSemaphore(value: 0)
      let make: @Sendable () -> Promise<Int> = {
        let sentinel = Sentinel { released.signal() }
        return Self.nest(
          depth,
          on: Promise<Int> { deferred in
            deferred.onCancel { sentinel.touch() }
            sentinel.touch()
          }
        ) { Promise<Int>(diagnostics: .silent) { deferred in deferred.onCancel {} } }
      }
      _ = make()
      released.wait()
      _ = try? make().start().wait()
      released.wait()
      #expect(make().cancel())
      released.wait()
    }
  }

  // Overflows the stack if nested errors are released, or described, recursively.
  @Test("errors of nested combinations are described and released")
  func errors() {
    onSmallStack { depth in
      let deferred = Deferred<Int>()
      var last = deferred.promise
      for index in 0..<(2 * depth) {
        last =
          index % 2 == 0
          ? when([.value(1), last]).map { $0[0] } : Promise.any([last, .failure(Failed())])
      }
      deferred.fail(Failed(number: 5))
      let error = #expect(throws: (any Error).self) { try last.wait() }
      let text = "\(error.map { "\($0)" } ?? "")"
      #expect(text.hasPrefix("all 2 promises failed: the promise at 1 failed: all 2 promises"))
    }
  }

  // Overflows the stack if `WhenError` is released recursively.
  @Test("a deeply nested error is described and released")
  func nestedErrors() {
    onSmallStack { _ in
      var error: any Error = Failed(number: 5)
      for index in 0..<10_000 {
        error = index % 2 == 0 ? WhenError(position: 1, underlying: error) : error
        if index % 2 == 1 {
          error = RetryError(lastError: AllFailedError(errors: [error]), attempts: 2)
        }
      }
      #expect("\(error)".hasSuffix("the promise at 1 failed: Failed(number: 5)"))
      let shared = error
      error = Failed()
      #expect(shared is RetryError)
    }
  }
}

extension Deferred {
  /// A deferred that never settles its promise, without diagnostics.
  fileprivate static var never: Deferred<Int> {
    let never = Deferred<Int>(diagnostics: .silent)
    kept.withLock { $0.append(never) }
    return never
  }
}

private let kept = Locked<[Deferred<Int>]>([])
