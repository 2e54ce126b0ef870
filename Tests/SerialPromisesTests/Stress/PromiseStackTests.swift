import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Long chains and deep nests of promises on a stack of 512 KB.
///
/// Each overflows the stack, and ends the whole run, if anything about it recurs.
@Suite(.allShow(Promising.stack)) struct PromiseStackTests {
  private let count = isLong ? 1_000_000 : 100_000 / ease

  private func onSmallStack(_ body: @escaping @Sendable (_ count: Int) -> Void) {
    onThread(stackSize: 512 * 1024) { [count] in body(count) }
  }

  // Fails if a link settles the next on its own stack.
  @Test("a chain of very many thens, made before and after its beginning is settled")
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

  // Fails if an error that passes recurs.
  @Test("an error passes through very many links")
  func failure() {
    onSmallStack { count in
      let deferred = Deferred<Int>()
      var last = deferred.promise
      for _ in 0..<count { last = last.map { $0 } }
      deferred.fail(Failed())
      #expect(throws: Failed()) { try last.wait() }
    }
  }

  // Fails if demanding recurs.
  @Test("a cold chain of very many links is started from its end")
  func cold() {
    onSmallStack { count in
      var last = Promise<Int> { resolve, _ in resolve(0) }
      for _ in 0..<count { last = last.map { $0 + 1 } }
      #expect((try? last.wait()) == count)
    }
  }

  // Fails if an adopted promise settles its adopter on its own stack.
  @Test("very many promises, each resolved with the next")
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

  // Fails if a handler that returns a promise whose handler returns a promise recurs.
  @Test(
    "a loop of very many handlers that each return the promise of the rest"
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

  // Fails if letting go recurs: of what was never started, abandoned, or cancelled.
  @Test("letting go of very many links, whatever state they are in")
  func discard() {
    onSmallStack { count in
      let gone = DispatchSemaphore(value: 0)
      let chain: @Sendable (Promise<Int>) -> Promise<Int> = { first in
        let sentinel = Sentinel { gone.signal() }
        var last = first.map { value in
          sentinel.touch()
          return value
        }
        for _ in 0..<count { last = last.map { $0 } }
        return last
      }
      _ = chain(Promise { _, _ in })
      gone.wait()
      _ = chain(Deferred<Int>(diagnostics: .silent).promise)
      gone.wait()
      let deferred = Deferred<Int>(diagnostics: .silent)
      let cancelled = chain(deferred.promise)
      #expect(cancelled.cancel())
      gone.wait()
      let settled = chain(Promise.value(1))
      #expect((try? settled.wait()) == 1)
      gone.wait()
    }
  }

  // Fails if the nest is released recursively.
  @Test("letting go of very many promises that were resolved with one another")
  func letGoOfNest() {
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
      // The innermost went away, and nobody can settle any of them.
      #expect(throws: PromiseError.self) { try first.promise.wait() }
    }
  }

  // Fails if progress that is passed on recurs.
  @Test("progress is passed through a long chain")
  func progress() {
    onSmallStack { _ in
      let (deferred, heard) = (Deferred<Int>(), DispatchSemaphore(value: 0))
      var last = deferred.promise
      for _ in 0..<10_000 { last = last.map { $0 } }
      last.progressed { _ in heard.signal() }
      deferred.progress(0.5)
      heard.wait()
      #expect(last.progress == 0.5)
      deferred.fulfill(1)
      #expect((try? last.wait()) == 1)
    }
  }
}
