import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Long chains and deep nests of promises.
@Suite(.allShow(Promising.stack)) struct PromiseStackTests {
  // Crashes if what the case names is recursive.
  @Test("long chains of promises need a small stack", arguments: StackCase.chains)
  func chains(_ stack: StackCase) {
    stack.run(isLong ? 1_000_000 : 20_000 / min(ease, 2))
  }

  // Crashes if what the case names is recursive.
  @Test("deeply nested combinations of promises need a small stack", arguments: StackCase.nests)
  func nests(_ stack: StackCase) {
    stack.run(isLong ? 100_000 : 6_000 / min(ease, 2))
  }

  // Fails if each combination visits all promises that the inner ones wait for.
  @Test("listening to nested combinations visits each promise once")
  func visits() {
    let deferred = Deferred<Int>()
    let nest = nested(3000, on: deferred.promise)
    var walk = ProgressWalk()
    _ = walk.progress(of: nest.core)
    // Each level has the combination, a link, and another promise.
    #expect(walk.visits <= 9001)
    #expect(nest.core.watch() <= 9001)
    let later = nested(3, on: nest)
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

  // Overflows the stack of the other process if a promise that was never started is released
  // recursively with its retries: 700 do on 512 KB.
  @Test("nested retries that were never started are released with a small stack")
  func retries() async {
    await #expect(processExitsWith: .success) {
      endWithoutBacktrace()
      endAfter(seconds: 60)
      onThread(stackSize: 512 * 1024) {
        var last = Promise<Int>(diagnostics: .silent) { resolve, _ in resolve(1) }
        for _ in 0..<700 { last = last.retry(1) }
        withExtendedLifetime(last) {}
      }
    }
  }
}

// MARK: Chains

extension StackCase {
  fileprivate static let chains = [
    // A link settles the next on its own stack.
    StackCase("a chain of maps, attached before and after its first promise is settled") { count in
      let deferred = Deferred<Int>()
      let before = chain(count, on: deferred.promise) { $0 + 1 }
      deferred.fulfill(0)
      #expect((try? before.wait()) == count)
      #expect((try? chain(count, on: deferred.promise) { $0 + 1 }.wait()) == count)
    },
    // Passing an error on is recursive.
    StackCase("an error that passes through a chain") { count in
      let deferred = Deferred<Int>()
      let last = chain(count, on: deferred.promise)
      deferred.fail(Failed())
      #expect(throws: Failed()) { try last.wait() }
    },
    // The demand is recursive.
    StackCase("a cold chain that is started from its end") { count in
      let first = Promise<Int> { resolve, _ in resolve(0) }
      #expect((try? chain(count, on: first) { $0 + 1 }.wait()) == count)
    },
    // An adopted promise settles its adopter on its own stack.
    StackCase("promises, each resolved with the next") { count in
      let first = Deferred<Int>()
      relays(count, to: first).fulfill(5)
      #expect((try? first.promise.wait()) == 5)
    },
    // A promise depends again on the one that it was forwarded to, or is released with it.
    StackCase("a promise that was forwarded along others, and is read or released") { count in
      for isRead in [true, false] {
        let (first, second) = (Deferred<Int>(), Deferred<Int>())
        second.promise.relay(to: first)
        var kept = second.promise as Promise<Int>?
        let last = relays(count, to: second)
        if !isRead { kept = nil }
        if case .pending? = kept?.state {} else { #expect(!isRead) }
        last.fulfill(5)
        #expect((try? first.promise.wait()) == 5)
        #expect((try? kept?.wait()) == (isRead ? 5 : nil))
      }
    },
    // Handlers that return promises of handlers that return promises are recursive.
    StackCase("a loop of handlers that each return the promise of the rest") { count in
      #expect((try? countDown(count).wait()) == 0)
    },
    // Releasing links is recursive: never started, abandoned, canceled or settled ones.
    StackCase("a chain that is released in any state") { count in
      let released = DispatchSemaphore(value: 0)
      let captured: @Sendable (Promise<Int>) -> Promise<Int> = { first in
        let sentinel = Sentinel { released.signal() }
        let last = first.map { value in
          sentinel.touch()
          return value
        }
        return chain(count, on: last)
      }
      _ = captured(Promise { _, _ in })
      released.wait()
      _ = captured(Deferred<Int>(diagnostics: .silent).promise)
      released.wait()
      let deferred = Deferred<Int>(diagnostics: .silent)
      #expect(captured(deferred.promise).cancel())
      released.wait()
      #expect((try? captured(Promise.value(1)).wait()) == 1)
      released.wait()
    },
    // Any part of a combination is recursive, or takes quadratic time.
    StackCase("combinations of many promises: settled, canceled or never started") { count in
      let deferreds = (0..<count).map { _ in Deferred<Int>() }
      let all = when(deferreds.map(\.promise))
      for (index, deferred) in deferreds.enumerated() { deferred.fulfill(index) }
      #expect((try? all.wait())?.count == count)
      let cold = (0..<count).map { index in
        Promise<Int> { deferred in deferred.fulfill(index) }
      }
      #expect(when(cold).cancel())
      _ = when((0..<count).map { index in Promise<Int> { index } })
    },
    // Settled promises are pulled recursively.
    StackCase("promises of a sequence that are settled") { count in
      let all = when((0..<count).lazy.map { Promise.value($0) }, concurrently: 2, isolation: nil)
      #expect((try? all.wait())?.count == count)
    },
    // Attempts are recursive, or accumulate.
    StackCase("attempts of a retry") { count in
      let made = Locked(0)
      let page = Promise<Int> { resolve, reject in
        let number = made.next()
        if number < count { reject(Failed()) } else { resolve(number) }
      }
      #expect((try? page.retry(count).wait()) == count)
    },
    // The nest is released recursively, with its innermost deferred.
    StackCase("promises that were resolved with each other, and are released") { count in
      let first = Deferred<Int>(diagnostics: .silent)
      _ = relays(count, to: first)
      #expect(throws: PromiseError.self) { try first.promise.wait() }
    },
    // Forwarding progress is recursive.
    StackCase("progress that is forwarded through a chain") { _ in
      let (deferred, received) = (Deferred<Int>(), DispatchSemaphore(value: 0))
      let last = chain(10_000, on: deferred.promise)
      last.progressed { _ in received.signal() }
      deferred.progress(0.5)
      received.wait()
      #expect(last.progress == 0.5)
      deferred.fulfill(1)
      #expect((try? last.wait()) == 1)
    },
  ]

  /// The end of a chain of maps.
  private static func chain(
    _ count: Int, on first: Promise<Int>, _ map: @escaping @Sendable (Int) -> Int = { $0 }
  ) -> Promise<Int> {
    var last = first
    for _ in 0..<count { last = last.map { map($0) } }
    return last
  }

  /// Resolves the promise of a deferred with that of another, and so on; returns the last.
  private static func relays(_ count: Int, to first: Deferred<Int>) -> Deferred<Int> {
    var last = first
    for _ in 0..<count {
      let next = Deferred<Int>(diagnostics: .silent)
      next.promise.relay(to: last)
      last = next
    }
    return last
  }

  private static func countDown(_ number: Int) -> Promise<Int> {
    Promise.value(number).then { number in
      number == 0 ? Promise.value(0) : countDown(number - 1)
    }
  }
}

// MARK: Nests

/// A combination of a combination and another promise, and so on.
private func nested(
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

extension StackCase {
  fileprivate static let nests = [
    // `ProgressWalk`, `watch` or the settlement is recursive.
    StackCase("combinations with progress and listeners that are fulfilled") { depth in
      let (deferred, received) = (Deferred<Int>(), DispatchSemaphore(value: 0))
      let nest = nested(depth, on: deferred.promise)
      deferred.progress(0.5)
      #expect(nest.progress > 0)
      nest.progressed { _ in received.signal() }
      received.wait()
      deferred.fulfill(7)
      #expect((try? nest.wait()) == 7)
    },
    // The demand, or `Restart`, is recursive.
    StackCase("cold combinations that are started from their end, and restarted") { depth in
      let attempts = Locked(0)
      let first = Promise<Int> { resolve, reject in
        if attempts.next() == 1 { reject(Failed()) } else { resolve(7) }
      }
      let nest = nested(depth, on: first) { Promise<Int> { resolve, _ in resolve(1) } }
      #expect((try? nest.retry(1).wait()) == 7)
    },
    // `Lifeline` or its dependents are released recursively.
    StackCase("cold combinations, released after a start, a cancellation, or neither") { depth in
      let released = DispatchSemaphore(value: 0)
      let make: @Sendable () -> Promise<Int> = {
        let sentinel = Sentinel { released.signal() }
        let first = Promise<Int> { deferred in
          deferred.onCancel { sentinel.touch() }
          sentinel.touch()
        }
        return nested(depth, on: first) {
          Promise<Int>(diagnostics: .silent) { deferred in deferred.onCancel {} }
        }
      }
      _ = make()
      released.wait()
      _ = try? make().start().wait()
      released.wait()
      #expect(make().cancel())
      released.wait()
    },
    // Nested errors are released, or described, recursively.
    StackCase("errors of combinations that are described and released") { depth in
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
    },
    // `WhenError` is released recursively.
    StackCase("a deeply nested error that is described and released") { _ in
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
    },
  ]
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
