import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Long chains and deep nests of promises on a stack of 512 KB.
///
/// Each test overflows the stack, and ends the whole run, if the code is recursive.
@Suite(.allShow(Promising.stack)) struct PromiseStackTests {
  private let count = isLong ? 1_000_000 : 20_000 / min(ease, 2)

  private func onSmallStack(_ body: @escaping @Sendable (_ count: Int) -> Void) {
    onThread(stackSize: 512 * 1024) { [count] in body(count) }
  }

  // Overflows the stack if a link settles the next on its own stack.
  @Test("a long chain of thens, attached before and after its first promise is settled")
  func chain() {
    onSmallStack { count in
      let deferred = Deferred<Int>()
      var before = deferred.promise
      for _ in 0..<count { before = before.map { $0 + 1 } }
      deferred.fulfill(0)
      #expect((try? before.wait()) == count)
      var after = deferred.promise
      for _ in 0..<count { after = after.map { $0 + 1 } }
      #expect((try? after.wait()) == count)
    }
  }

  // Overflows the stack if passing an error on is recursive.
  @Test("an error passes through a long chain")
  func failure() {
    onSmallStack { count in
      let deferred = Deferred<Int>()
      var last = deferred.promise
      for _ in 0..<count { last = last.map { $0 } }
      deferred.fail(Failed())
      #expect(throws: Failed()) { try last.wait() }
    }
  }

  // Overflows the stack if the demand is recursive.
  @Test("a long cold chain is started from its end")
  func cold() {
    onSmallStack { count in
      var last = Promise<Int> { resolve, _ in resolve(0) }
      for _ in 0..<count { last = last.map { $0 + 1 } }
      #expect((try? last.wait()) == count)
    }
  }

  // Overflows the stack if an adopted promise settles its adopter on its own stack.
  @Test("many promises, each resolved with the next")
  func adoption() {
    onSmallStack { count in
      let first = Deferred<Int>()
      var last = first
      for _ in 0..<count {
        let next = Deferred<Int>()
        next.promise.relay(to: last)
        last = next
      }
      last.fulfill(5)
      #expect((try? first.promise.wait()) == 5)
    }
  }

  // Overflows the stack if a promise depends again on the one that it was forwarded to, or is released
  // with it, recursively.
  @Test("a promise that was forwarded along many others is read, or released")
  func forwarded() {
    onSmallStack { count in
      for isRead in [true, false] {
        let (first, second) = (Deferred<Int>(), Deferred<Int>())
        second.promise.relay(to: first)
        var (last, kept) = (second, second.promise as Promise<Int>?)
        for _ in 0..<count {
          let next = Deferred<Int>()
          next.promise.relay(to: last)
          last = next
        }
        if !isRead { kept = nil }
        if case .pending? = kept?.state {} else { #expect(!isRead) }
        last.fulfill(5)
        #expect((try? first.promise.wait()) == 5)
        #expect((try? kept?.wait()) == (isRead ? 5 : nil))
      }
    }
  }

  // Overflows the stack if handlers that return promises of handlers that return promises are
  // recursive.
  @Test(
    "a loop of many handlers that each return the promise of the rest"
  )
  func loop() {
    onSmallStack { count in
      #expect((try? Self.countDown(count).wait()) == 0)
    }
  }

  private static func countDown(_ number: Int) -> Promise<Int> {
    Promise.value(number).then { number in
      number == 0 ? Promise.value(0) : countDown(number - 1)
    }
  }

  // Overflows the stack if releasing links is recursive: never started, abandoned, or canceled
  // ones.
  @Test("releasing a long chain in any state")
  func release() {
    onSmallStack { count in
      let released = DispatchSemaphore(value: 0)
      let chain: @Sendable (Promise<Int>) -> Promise<Int> = { first in
        let sentinel = Sentinel { released.signal() }
        var last = first.map { value in
          sentinel.touch()
          return value
        }
        for _ in 0..<count { last = last.map { $0 } }
        return last
      }
      _ = chain(Promise { _, _ in })
      released.wait()
      _ = chain(Deferred<Int>(diagnostics: .silent).promise)
      released.wait()
      let deferred = Deferred<Int>(diagnostics: .silent)
      let cancelled = chain(deferred.promise)
      #expect(cancelled.cancel())
      released.wait()
      let settled = chain(Promise.value(1))
      #expect((try? settled.wait()) == 1)
      released.wait()
    }
  }

  // Overflows the stack if the nest is released recursively.
  @Test("releasing many promises that were resolved with each other")
  func releaseNest() {
    onSmallStack { count in
      let first = Deferred<Int>(diagnostics: .silent)
      do {
        var last = first
        for _ in 0..<count {
          let next = Deferred<Int>(diagnostics: .silent)
          next.promise.relay(to: last)
          last = next
        }
      }
      // The innermost deferred is released, and no promise can be settled.
      #expect(throws: PromiseError.self) { try first.promise.wait() }
    }
  }

  // Overflows the stack if forwarding progress is recursive.
  @Test("progress is forwarded through a long chain")
  func progress() {
    onSmallStack { _ in
      let (deferred, received) = (Deferred<Int>(), DispatchSemaphore(value: 0))
      var last = deferred.promise
      for _ in 0..<10_000 { last = last.map { $0 } }
      last.progressed { _ in received.signal() }
      deferred.progress(0.5)
      received.wait()
      #expect(last.progress == 0.5)
      deferred.fulfill(1)
      #expect((try? last.wait()) == 1)
    }
  }
}
