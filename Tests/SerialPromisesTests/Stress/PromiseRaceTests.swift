import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Promises that several threads use at the same moment.
struct PromiseRaceTests {
  private let rounds = isLong ? 10_000 : 1_000

  // Fails if two threads win, none does, or a loser is not told.
  @Test(
    "of 8 threads that settle one promise one wins, and the others are told",
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
      case .pending: Issue.record("nobody settled it")
      case .fulfilled(let value): #expect(won.all == [value])
      case .failed(let error): #expect(won.all == [(error as? Failed)?.number])
      }
    }
  }

  // Fails if a handler is lost, runs twice, or runs before one that the same thread attached before.
  @Test("handlers attached while the promise is settled run once, in the order of attaching")
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

  // Fails if both win, or the outcome is not the winner's.
  @Test("of a cancellation and a settlement one wins", .shows(Promising.settledOnce))
  func cancelling() {
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

  // Fails if an awaiting task is resumed twice, or never.
  @Test(
    "a task that is cancelled while its promise is settled is resumed once",
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

  // Never ends, under the thread sanitizer, if the thread that takes apart what was never started and
  // one that takes a reaction out there work on the same list: if `Settlement.invalidate` hands it out.
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

  // Fails if something keeps a promise, a handler or what it captured.
  @Test(
    "nothing is left of promises that were settled, cancelled, timed out or never started",
    .shows(Promising.noLeaks))
  func leaks() async {
    let clock = ManualClock()
    for kind in 0..<6 {
      let gone = Gate()
      let watched = Log<Watched>()
      do {
        let sentinel = Sentinel { gone.open() }
        let deferred = Deferred<Int>(diagnostics: .silent)
        deferred.onCancel { sentinel.touch() }
        let root = kind == 5 ? Promise<Int> { _, _ in sentinel.touch() } : deferred.promise
        let chain = root.then { value in
          sentinel.touch()
          return Promise.value(value)
        }.recover { _ in
          sentinel.touch()
          return 2
        }
        watched.append(Watched(root.core))
        watched.append(Watched(chain.core))
        switch kind {
        case 0: deferred.fulfill(1)
        case 1: deferred.fail(Failed())
        case 2: chain.cancel()
        case 3:
          let limited = chain.timeout(.seconds(1), clock: clock)
          await clock.somebodySleeps()
          clock.advance(by: .seconds(1))
          _ = try? await limited.value
        default: break
        }
      }
      await gone.passed()
      for core in watched.all { while !core.isGone { await Task.yield() } }
    }
  }
}
