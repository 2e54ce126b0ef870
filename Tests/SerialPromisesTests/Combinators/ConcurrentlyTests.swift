import TestSupport
import Testing

@testable import SerialPromises

/// `when(concurrently:)`: a limited number of promises in flight, pulled from a sequence.
struct ConcurrentlyTests {
  /// Counts the promises in flight.
  private final class Workers: Sendable {
    private let state = Locked((now: 0, most: 0))
    var most: Int { state.withLock { $0.most } }

    func work<Value: Sendable>(_ value: Value) -> Promise<Value> {
      Promise {
        self.state.withLock { state in
          state.now += 1
          state.most = max(state.most, state.now)
        }
        await Task.yield()
        self.state.withLock { $0.now -= 1 }
        return value
      }
    }
  }

  // Fails if a failure settles the combination, its outcome is lost, or the limit is exceeded.
  @Test(
    "when(resolved:concurrently:) never fails", .shows(Promising.concurrently, Promising.collect))
  func resolved() async throws {
    let workers = Workers()
    let outcomes = try await when(
      resolved: (0..<20).lazy.map { index in
        index % 3 == 0 ? .failure(Failed(number: index)) : workers.work(index)
      }, concurrently: 4
    ).value
    #expect(workers.most <= 4)
    let expected = (0..<20).map { index in
      index % 3 == 0 ? "failure(SerialPromisesTests.Failed(number: \(index)))" : "success(\(index))"
    }
    #expect(outcomes.map { "\($0)" } == expected)
    #expect(try await when(resolved: [Promise<Int>](), concurrently: 1).value.isEmpty)
  }

  // Fails if pulling continues after a failure, or the index is lost, or if the iterator of a
  // finished attempt is retained until the whole combination is released.
  @Test("no promise is pulled after a failure, and the iterator is released")
  func failure() async {
    let (pulled, gone) = (Log<Int>(), Gate())
    let all = {
      let sentinel = Sentinel { gone.open() }
      return when(
        (0..<100).lazy.map { index in
          sentinel.touch()
          pulled.append(index)
          return index == 2 ? Promise<Int>.failure(Failed()) : .value(index)
        }, concurrently: 1)
    }()
    let failure = await #expect(throws: WhenError<Int>.self) { try await all.value }
    #expect(failure?.position == 2)
    await gone.passed()
    #expect(pulled.all == [0, 1, 2])
    withExtendedLifetime(all) {}
  }

  // Fails if the promises in flight are not canceled, or pulling continues.
  @Test("canceling stops pulling and cancels the promises in flight")
  func cancel() async {
    let (log, begun) = (Log<Int>(), Gate())
    let held = Locked<[Deferred<Int>]>([])
    let promises = (0..<10).lazy.map { index in
      Promise<Int> { deferred in
        held.withLock { $0.append(deferred) }
        deferred.onCancel { log.append(index) }
        if index == 1 { begun.open() }
      }
    }
    let all = when(promises, concurrently: 2).start()
    await begun.passed()
    all.cancel()
    #expect(log.all.sorted() == [0, 1])
    #expect(held.withLock { $0.count } == 2)
    #expect(await all.outcome == "failed CancellationError()")
    held.withLock { $0.removeAll() }
  }

  // Fails if a promise that the sequence returns during the cancellation is started; hangs if it is
  // not canceled.
  @Test("a promise that is pulled during the cancellation never begins, and is canceled")
  func cancelWhilePulling() async {
    let (log, all) = (Log<Int>(), Locked<Promise<[Int]>?>(nil))
    let (made, held) = (Locked<[Promise<Int>]>([]), Locked<[Deferred<Int>]>([]))
    let promises = (0..<10).lazy.map { index in
      if index == 1 { all.withLock { $0 }?.cancel() }
      let promise = Promise<Int> { deferred in
        log.append(index)
        held.withLock { $0.append(deferred) }
        deferred.onCancel {}
      }
      made.withLock { $0.append(promise) }
      return promise
    }
    let promise = when(promises, concurrently: 2)
    all.withLock { $0 = promise }
    promise.start()
    let cancelled = "failed CancellationError()"
    // Polled: a handler or an awaiting task would want the promise, so that it is not canceled.
    while made.withLock({ $0 }).map({ text($0.state) }) != [cancelled, cancelled] {
      await Task.yield()
    }
    #expect(log.all == [0])
    all.withLock { $0 = nil }
    held.withLock { $0.removeAll() }
  }

  // Deadlocks if `PullState.fulfilled` releases the promise under the lock.
  @Test("an object held by a fulfilled promise may cancel the combination when it is released")
  func releaseCancels() async {
    let (all, released) = (Locked<Promise<[Int]>?>(nil), Log<Int>())
    let promises = (0..<3).lazy.map { index in
      let sentinel = Sentinel {
        released.append(index)
        all.withLock { $0 }?.cancel()
      }
      // Settled without the second promise, which is released unstarted with the combination.
      let cold = Promise<Int> { _, _ in }.map { value in
        sentinel.touch()
        return value
      }
      return Promise.any([.value(7), cold])
    }
    let promise = when(promises, concurrently: 2)
    all.withLock { $0 = promise }
    #expect(await promise.outcome == "failed CancellationError()")
    #expect(released.count > 0)
    all.withLock { $0 = nil }
  }

  // Not Sendable: `next()` counts the elements without a lock.
  private final class Numbers {
    private let willPull: (Int) -> Void
    private var pulled = 0
    /// Fails during the second pull, so the first attempt is then inside `next()`.
    private let first = Deferred<Int>()

    init(_ willPull: @escaping (Int) -> Void) {
      self.willPull = willPull
    }

    func next() -> Promise<Int> {
      pulled += 1
      if pulled == 2 { first.fail(Failed()) }
      willPull(pulled)
      return pulled == 1 ? first.promise : .value(pulled)
    }
  }

  // Fails if `Pull` does not enter the source before it pulls: the second attempt is then inside
  // `next()` at the same time as the first.
  @Test("a retry does not use the sequence while the preceding attempt is inside next()")
  func retryPulls() async {
    let (inside, most, retried) = (Locked(0), Locked(0), Gate())
    let numbers = Numbers { pulled in
      let now = inside.next()
      most.withLock { $0 = max($0, now) }
      // Blocks the second pull of the first attempt until the second attempt has begun.
      if pulled == 2 { retried.block() }
      inside.withLock { $0 -= 1 }
    }
    let all = when((0..<3).lazy.map { _ in numbers.next() }, concurrently: 2).retry(
      1,
      if: { _ in
        // Runs in this turn, after the attempt that begins when this returns.
        Promise.value(0).fulfilled { _ in retried.open() }
        return true
      })
    onOwnThread { all.start() }
    #expect(await all.outcome == "[3, 4, 5]")
    #expect(most.withLock { $0 } == 1)
  }

  // Traps in the closure if the sequence is pulled outside the main actor. Does not compile if
  // `when` does not inherit the caller's isolation.
  @MainActor
  @Test("in a function of the main actor, the sequence is pulled on the main actor")
  func onMainActor() async throws {
    var pulled: [Int] = []
    let promises = (0..<10).lazy.map { index in
      MainActor.preconditionIsolated()
      pulled.append(index)
      return Promise { index }
    }
    let all = when(promises, concurrently: 3)
    #expect(try await all.value == Array(0..<10))
    #expect(pulled == Array(0..<10))
  }

  // MARK: Retries

  // Fails if the second attempt iterates the same sequence again, which is empty by then.
  @Test(
    "a sequence that can be iterated once, and fails, does not succeed with no values",
    .shows(Promising.concurrently, Promising.retry), arguments: [false, true])
  func singlePass(_ isIterator: Bool) async {
    let left = Locked(1)
    let next = { @Sendable () -> Promise<Int>? in
      let number = left.withLock { left in
        left -= 1
        return left
      }
      return number < 0 ? nil : .silentFailure(Failed(number: number))
    }
    let outcome =
      isIterator
      ? await when(AnyIterator(next), concurrently: 1, isolation: nil).retry(2).outcome
      : await when(AnySequence { AnyIterator(next) }, concurrently: 1, isolation: nil).retry(2)
        .outcome
    #expect(outcome.hasPrefix("failed") && outcome.contains("Failed(number: 0)"))
  }

  // Fails if a collection is not iterated again.
  @Test("a collection is iterated again by each attempt")
  func collection() async {
    let attempts = Locked(0)
    let promises = (0..<2).lazy.map { index in
      Promise<Int>(diagnostics: .silent) { resolve, reject in
        if attempts.next() == 1 { reject(Failed()) } else { resolve(index) }
      }
    }
    #expect(await when(promises, concurrently: 1, isolation: nil).retry(2).outcome == "[0, 1]")
  }
}
