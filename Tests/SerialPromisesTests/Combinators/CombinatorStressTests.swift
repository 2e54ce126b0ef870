import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Combinations of many promises, and combinations settled by many threads.
struct CombinatorStressTests {
  // Overflows the stack if any part is recursive; times out if any part is quadratic.
  @Test("when over 1,000,000 promises needs 512 KB of stack", .shows(Promising.stack))
  func million() {
    let count = isLong ? 1_000_000 : 20_000
    onThread(stackSize: 512 * 1024) {
      let deferreds = (0..<count).map { _ in Deferred<Int>() }
      let all = when(deferreds.map(\.promise))
      for (index, deferred) in deferreds.enumerated() { deferred.fulfill(index) }
      #expect((try? all.wait())?.count == count)
      let cancelled = when(
        (0..<count).map { index in
          Promise<Int> { deferred in deferred.fulfill(index) }
        })
      #expect(cancelled.cancel())
      // Never started or demanded: released with all its promises.
      _ = when((0..<count).map { index in Promise<Int> { index } })
    }
  }

  // Fails if two threads settle the combination, a value is lost, or a handler runs twice.
  @Test(
    "combinations whose promises are settled by 8 threads settle once, with the right result",
    .shows(Promising.when))
  func threads() {
    let rounds = isLong ? 10_000 : 500
    tally(rounds)
    for _ in 0..<rounds {
      let deferreds = (0..<8).map { _ in Deferred<Int>(diagnostics: .silent) }
      let promises = deferreds.map(\.promise)
      let (ends, done) = (Log<String>(), DispatchSemaphore(value: 0))
      let end: @Sendable (String) -> Void = {
        ends.append($0)
        done.signal()
      }
      when(promises).fulfilled { end("all \($0.reduce(0, +))") }
      when(resolved: promises).fulfilled { end("resolved \($0.count)") }
      Promise.any(promises).fulfilled { _ in end("any") }
      Promise.race(promises).fulfilled { _ in end("race") }
      DispatchQueue.concurrentPerform(iterations: 8) { deferreds[$0].fulfill($0) }
      for _ in 0..<4 { done.wait() }
      #expect(ends.all.sorted() == ["all 28", "any", "race", "resolved 8"])
    }
  }

  // Fails if both a cancellation and a settlement succeed, or neither does.
  @Test("a combination that is canceled while its promises are settled settles once")
  func canceling() {
    for _ in 0..<(isLong ? 10_000 : 500) {
      let deferreds = (0..<4).map { _ in Deferred<Int>(diagnostics: .silent) }
      let all = when(deferreds.map(\.promise))
      let (ends, done) = (Log<Bool>(), DispatchSemaphore(value: 0))
      let end: @Sendable (Bool) -> Void = {
        ends.append($0)
        done.signal()
      }
      all.fulfilled { _ in end(true) }.failed { _ in end(false) }
      let won = Log<Bool>()
      DispatchQueue.concurrentPerform(iterations: 5) { index in
        if index < 4 { deferreds[index].fulfill(index) } else { won.append(all.cancel()) }
      }
      done.wait()
      #expect(ends.all == won.all.map { !$0 })
    }
  }
}
