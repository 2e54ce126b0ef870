import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Promises that several threads use at the same time.
struct PromiseRaceTests {
  private let rounds = isLong ? 10_000 : 1_000

  // Fails if two threads settle the promise, none does, or a late attempt is not reported.
  @Test(
    "of 8 threads that settle one promise one succeeds, and the other attempts are reported",
    .shows(Promising.settledOnce, Promising.lateAttempts))
  func settling() {
    for _ in 0..<rounds {
      let (deferred, won) = (Deferred<Int>(diagnostics: .silent), Log<Int>())
      DispatchQueue.concurrentPerform(iterations: 8) { index in
        let isFirst =
          index % 2 == 0
          ? deferred.tryFulfill(index) : deferred.tryFail(Failed(number: index))
        if isFirst { won.append(index) }
      }
      #expect(won.count == 1)
      switch deferred.promise.state {
      case .pending: Issue.record("the promise was not settled")
      case .fulfilled(let value): #expect(won.all == [value])
      case .failed(let error): #expect(won.all == [(error as? Failed)?.number])
      }
    }
  }

  // Fails if a handler is lost, runs twice, or runs before one that the same thread attached
  // earlier.
  @Test("handlers attached during the settlement run once, in the order of attachment")
  func attaching() {
    let (threads, each) = (4, 5)
    for _ in 0..<rounds {
      let (deferred, ran) = (Deferred<Int>(), Log<(Int, Int)>())
      let all = DispatchGroup()
      for _ in 0..<threads * each { all.enter() }
      DispatchQueue.concurrentPerform(iterations: threads + 1) { thread in
        guard thread < threads else { return deferred.fulfill(1) }
        for number in 0..<each {
          deferred.promise.fulfilled { _ in
            ran.append((thread, number))
            all.leave()
          }
        }
      }
      all.wait()
      for thread in 0..<threads {
        #expect(ran.all.filter { $0.0 == thread }.map(\.1) == Array(0..<each))
      }
    }
  }

  // Fails if both succeed, or the outcome is that of the other one.
  @Test("of a cancellation and a settlement one succeeds", .shows(Promising.settledOnce))
  func canceling() {
    for _ in 0..<rounds {
      let (deferred, log) = (Deferred<Int>(), Log<String>())
      deferred.onCancel { log.append("cancel handler") }
      DispatchQueue.concurrentPerform(iterations: 2) { index in
        if index == 0 {
          if deferred.tryFulfill(1) { log.append("fulfilled") }
        } else if deferred.promise.cancel() {
          log.append("cancelled")
        }
      }
      if case .fulfilled = deferred.promise.state {
        #expect(log.all == ["fulfilled"])
      } else {
        #expect(log.all == ["cancel handler", "cancelled"])
      }
    }
  }

  // Traps if an awaiting task is resumed twice; hangs if it is not resumed.
  @Test(
    "a task that is canceled while its promise is settled is resumed once",
    .shows(Promising.awaiting))
  func awaiting() async {
    for _ in 0..<rounds {
      let deferred = Deferred<Int>()
      let task = Task { try await deferred.promise.value }
      let settles = Task.detached { deferred.tryFulfill(1) }
      task.cancel()
      switch await task.result {
      case .success(let value): #expect(value == 1)
      case .failure(let error): #expect(error is CancellationError)
      }
      _ = await settles.value
    }
  }

  // Hangs under the thread sanitizer if the thread that invalidates a promise that was never
  // started and one that removes a reaction use the same list: if `Settlement.invalidate` hands it
  // out.
  @Test("a cold race may be dropped while one of its promises ends")
  func droppedWhileDecided() {
    for _ in 0..<rounds {
      let hot = Deferred<Int>(diagnostics: .silent)
      let race = Locked<Promise<Int>?>(Promise.race([Promise<Int> { 1 }, hot.promise]))
      DispatchQueue.concurrentPerform(iterations: 2) { index in
        if index == 0 { return hot.fulfill(1) }
        let last = race.withLock { $0.take() }
        withExtendedLifetime(last) {}
      }
    }
  }

  // Fails if two threads settle the combination, a value is lost, or a handler runs twice.
  @Test(
    "combinations whose promises are settled by 8 threads settle once, with the right result",
    .shows(Promising.when))
  func combining() {
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
  func cancelingCombined() {
    for _ in 0..<rounds {
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
