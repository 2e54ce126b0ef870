import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Steps that are retried.
struct StepRetryTests {
  private let clock = ManualClock()
  private let reports = Reports()

  private var manager: PromiseManager { PromiseManager(diagnostics: reports.place) }

  /// Fails until the attempt with this number.
  private func failing(until success: Int, _ log: Log<Int>) -> Step {
    Step("shaky") { then in
      log.append(log.count + 1)
      then(log.count < success ? Failed(number: log.count) : nil)
    }
  }

  // Fails if the number of attempts is wrong, or the next step runs between two of them.
  @Test("a step is retried until it succeeds, in one turn", .shows(Managing.retry))
  func succeeds() async {
    let (manager, log) = (manager, Log<Int>())
    let handle = manager.add(failing(until: 3, log).retry(5))
    manager.add { then in
      log.append(100)
      then()
    }
    #expect(text(await handle.outcome) == "succeeded")
    await manager.idle()
    #expect(log.all == [1, 2, 3, 100])
  }

  // Fails if the error is not the last one, or the attempts are miscounted.
  @Test(
    "after the last attempt the step fails with the last error and the number of attempts",
    .shows(Managing.retry))
  func fails() async throws {
    let (manager, log) = (manager, Log<Int>())
    let handle = manager.add(failing(until: .max, log).retry(2))
    let outcome = await handle.outcome
    let failure = try #require(throws: RetryError.self) { try outcome.get() }
    #expect(failure.attempts == 3)
    #expect(failure.lastError as? Failed == Failed(number: 3))
  }

  // Fails if the condition is not evaluated, or an error that it rejects is retried.
  @Test("an error that the condition rejects is not retried", .shows(Managing.retry))
  func condition() async throws {
    let (manager, log) = (manager, Log<Int>())
    let step = failing(until: .max, log).retry(5, if: { ($0 as? Failed)?.number == 1 })
    let outcome = await manager.add(step).outcome
    let failure = try #require(throws: RetryError.self) { try outcome.get() }
    #expect(failure.attempts == 2 && log.count == 2)
  }

  // Fails if the pauses have another length.
  @Test(
    "the time between attempts follows the backoff", .shows(Managing.retry),
    arguments: zip(
      [Backoff.constant, .linear, .exponential], [[10, 10, 10], [10, 20, 30], [10, 20, 40]]))
  func backoff(_ backoff: Backoff, _ pauses: [Int]) async {
    let (manager, log) = (manager, Log<Int>())
    let step = failing(until: 4, log)
      .retry(3, delay: .seconds(10), backoff: backoff, clock: clock)
    let handle = manager.add(step)
    for (attempt, pause) in pauses.enumerated() {
      await clock.waitForSleeper()
      #expect(log.count == attempt + 1)
      clock.advance(by: .seconds(pause - 1))
      #expect(clock.sleepers == 1)
      clock.advance(by: .seconds(1))
    }
    #expect(text(await handle.outcome) == "succeeded")
  }

  // Fails if the attempt runs anyway, if its canceled turn retains it and the step's captures, or
  // if it is reported as a late `then`.
  @Test(
    "a step that ends when its next attempt is about to begin leaks nothing",
    .shows(Managing.retry), arguments: [true, false])
  func endedAsAttemptBegins(_ isTimedOut: Bool) async {
    let (queue, proceed, log) = (DispatchQueue(label: "steps"), Gate(), Log<Int>())
    let (taken, released) = (Taken(), Gate())
    let manager = PromiseManager(on: queue, diagnostics: reports.place)
    func add() -> StepHandle {
      let (handler, sentinel) = (taken.handler, Sentinel { released.open() })
      let step = Step { then in
        sentinel.touch()
        log.append(1)
        handler(then)
      }
      return manager.add(step.retry(3).timeout(.seconds(5), clock: clock))
    }
    let handle = add()
    await taken.gate.passed()
    await clock.waitForSleeper()
    queue.async { proceed.block() }
    taken.call(Failed())
    taken.drop()
    #expect(manager.order.withLock { $0.phase } == .resuming)
    if isTimedOut { clock.advance(by: .seconds(5)) } else { handle.cancel() }
    #expect(text(await handle.outcome).hasPrefix(isTimedOut ? "failed not done" : "cancelled"))
    proceed.open()
    await manager.idle()
    await released.passed()
    #expect(log.count == 1 && reports.all.isEmpty)
  }

  // Fails if work begins after its time limit.
  @Test(
    "a step whose time limit elapses before its first attempt does not begin it",
    .shows(Managing.retry), arguments: [true, false])
  func timedOutBeforeFirstAttempt(_ waitsForThen: Bool) async {
    let manager = PromiseManager(on: DispatchQueue(label: "steps"), diagnostics: reports.place)
    let (begun, notified, proceed, log) = (Gate(), Gate(), Gate(), Log<Int>())
    let retried = failing(until: 1, log).retry(3).handler
    let handle = manager.add(
      Step { then in
        then.onCancel { notified.open() }
        begun.open()
        proceed.block()
        retried(then)
      }.timeout(.seconds(5), waitsForThen: waitsForThen, clock: clock))
    await begun.passed()
    await clock.waitForSleeper()
    clock.advance(by: .seconds(5))
    await notified.passed()
    proceed.open()
    #expect(text(await handle.outcome).hasPrefix("failed not done"))
    await manager.idle()
    #expect(log.count == 0 && reports.all.isEmpty)
  }

  // Traps if the delay is multiplied before it is compared: the product overflows.
  @Test("no delay or backoff makes a time that overflows")
  func longest() {
    let policy = RetryPolicy(
      retries: 100, delay: .seconds(Int64.max), backoff: .exponential, condition: { _ in true })
    #expect(policy.pause(after: 60, Failed()) == policy.pause(after: 1, Failed()))
  }

  // Fails if the attempt is not notified, or another one follows.
  @Test("canceling notifies the running attempt, and no other follows")
  func cancelRunning() async {
    let (manager, taken, notified) = (manager, Taken(), Gate())
    let handler = taken.handler
    let step = Step { then in
      then.onCancel { notified.open() }
      handler(then)
    }
    let handle = manager.add(step.retry(5))
    await taken.gate.passed()
    handle.cancel()
    await notified.passed()
    #expect(text(handle.state) == "running")
    taken.call(CancellationError())
    #expect(text(await handle.outcome) == "cancelled")
  }

  // Fails if the pause continues, or another attempt follows it.
  @Test("canceling between two attempts ends the step at once")
  func cancelPause() async {
    let (manager, log) = (manager, Log<Int>())
    let step = failing(until: .max, log).retry(5, delay: .seconds(10), clock: clock)
    let handle = manager.add(step)
    await clock.waitForSleeper()
    handle.cancel()
    #expect(text(await handle.outcome) == "cancelled")
    #expect(log.count == 1)
  }

  // Fails if the retry checks only for cancellation, which no longer applies to an ended step.
  @Test(
    "a step that ended during an attempt is not retried",
    .shows(Managing.retry, Managing.neverTwo), arguments: [true, false])
  func endedMeanwhile(_ isTimedOut: Bool) async {
    let (queue, taken, log) = (DispatchQueue(label: "steps"), Taken(), Log<Int>())
    let manager = PromiseManager(on: queue, diagnostics: reports.place)
    let handler = taken.handler
    let step = Step { then in
      log.append(1)
      handler(then)
    }.retry(3)
    let handle =
      if isTimedOut { manager.add(step.timeout(.seconds(5), clock: clock)) } else {
        manager.add(step)
      }
    await taken.gate.passed()
    if !isTimedOut { handle.cancel(grace: .seconds(5), clock: clock) }
    await clock.waitForSleeper()
    clock.advance(by: .seconds(5))
    _ = await handle.outcome
    taken.call(Failed())
    queue.sync {}
    #expect(log.count == 1)
    #expect(reports.all == [.thenCalledLate(StepIdentity(id: 1, name: nil))])
  }

  // Hangs if a dropped `then` does not fail the attempt.
  @Test("an attempt that drops its then has failed, and a second call is reported")
  func dropped() async {
    let (manager, log) = (manager, Log<Int>())
    let step = Step { then in
      log.append(1)
      if log.count == 2 { then() }
      if log.count == 2 { then() }
    }
    #expect(text(await manager.add(step.retry(3)).outcome) == "succeeded")
    #expect(log.count == 2 && reports.all.count == 1)
  }

  // Overflows the stack if attempts run on the stack of the preceding one.
  @Test("any number of attempts needs constant stack")
  func many() {
    onThread(stackSize: 512 * 1024) {
      let (manager, count) = (PromiseManager(), isLong ? 1_000_000 : 50_000)
      let made = Locked(0)
      let step = Step { then in
        let isLast = made.withLock { made in
          made += 1
          return made == count
        }
        then(isLast ? nil : Failed())
      }
      let handle = manager.add(step.retry(count))
      #expect(text(waitFor(handle)) == "succeeded")
    }
  }

  // Fails if attempts run elsewhere than the manager's handlers.
  @Test("all attempts run where the manager's handlers run")
  func onQueue() async {
    let key = DispatchSpecificKey<Int>()
    let queue = DispatchQueue(label: "steps")
    queue.setSpecific(key: key, value: 1)
    let (manager, log) = (PromiseManager(on: queue), Log<Int>())
    let step = Step { then in
      log.append(DispatchQueue.getSpecific(key: key) ?? 0)
      DispatchQueue.global().async { then(log.count < 3 ? Failed() : nil) }
    }
    let handle = manager.add(step.retry(5, delay: .seconds(1), clock: clock))
    for _ in 0..<2 {
      await clock.waitForSleeper()
      clock.advance(by: .seconds(1))
    }
    #expect(text(await handle.outcome) == "succeeded")
    #expect(log.all == [1, 1, 1])
  }

  // Fails if the lower progress of a later attempt is reported as a decrease, or lowers the step's
  // progress.
  @Test("the progress is the maximum of the attempts")
  func progress() async {
    let (manager, log) = (manager, Log<Double>())
    let step = Step { then in
      then.progress(log.count == 0 ? 0.5 : 0.25)
      log.append(manager.progress)
      then.progress(0.75)
      then(log.count < 2 ? Failed() : nil)
    }
    #expect(text(await manager.add(step.retry(5)).outcome) == "succeeded")
    #expect(log.all == [0.5, 0.75] && reports.all.isEmpty)
  }

  /// The outcome of a step, for a thread that runs no task.
  private func waitFor(_ handle: StepHandle) -> StepOutcome {
    let (outcome, done) = (Locked<StepOutcome?>(nil), DispatchSemaphore(value: 0))
    handle.observe { ended in
      outcome.withLock { $0 = ended }
      done.signal()
    }
    done.wait()
    return outcome.withLock { $0 } ?? .cancelled
  }
}
