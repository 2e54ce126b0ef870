import TestSupport
import Testing

@testable import SerialPromises

/// Time limits and delays of steps.
struct StepTimeTests {
  private let clock = ManualClock()
  private let reports = Reports()

  private var manager: PromiseManager { PromiseManager(diagnostics: reports.place) }

  // Fails if the queue waits for the step, which is not told, or its late `then` counts.
  @Test(
    "a step that takes too long is told, fails, and lets the queue go on",
    .shows(Managing.timeout, Managing.lateThen))
  func timeout() async {
    let (manager, log, taken) = (manager, Log<String>(), Taken())
    let handler = taken.handler
    let slow = Step("slow") { then in
      then.onCancel { log.append("told") }
      handler(then)
    }
    let handle = manager.add(slow.timeout(.seconds(5), clock: clock))
    manager.add { then in
      log.append("next")
      then()
    }
    await clock.somebodySleeps()
    #expect(log.all.isEmpty && handle.name == "slow")
    clock.advance(by: .seconds(5))
    #expect(
      text(await handle.outcome)
        == "failed not done within 5.0 seconds; the work may still be running")
    await manager.idle()
    #expect(log.all == ["told", "next"])
    taken.call()
    #expect(reports.all == [.thenCalledLate(StepIdentity(id: 1, name: "slow"))])
  }

  // Fails if the step ends before its `then`, or as what `then` says.
  @Test(
    "where it is waited for, a step that took too long still ends by its then",
    .shows(Managing.lateThen))
  func waiting() async {
    let (manager, told, taken) = (manager, Gate(), Taken())
    let handler = taken.handler
    let slow = Step { then in
      then.onCancel { told.open() }
      handler(then)
    }
    let handle = manager.add(slow.timeout(.seconds(5), waitsForThen: true, clock: clock))
    await clock.somebodySleeps()
    clock.advance(by: .seconds(5))
    await told.passed()
    #expect(text(handle.state) == "running")
    taken.call()
    #expect(
      text(await handle.outcome)
        == "failed not done within 5.0 seconds; the work may still be running")
    #expect(reports.all.isEmpty)
  }

  // Fails if the timer goes on sleeping, or ends a later step.
  @Test("a step that is in time stops its timer")
  func inTime() async {
    let (manager, taken) = (manager, Taken())
    let handle = manager.add(Step(nil, taken.handler).timeout(.seconds(5), clock: clock))
    await clock.somebodySleeps()
    taken.call()
    #expect(text(await handle.outcome) == "succeeded")
    while clock.sleepers > 0 { await Task.yield() }
  }

  // Fails if the timer holds `then`.
  @Test("a then that is dropped is noticed before the time is over")
  func dropped() async {
    let (manager, taken) = (manager, Taken())
    let handle = manager.add(Step("lost", taken.handler).timeout(.seconds(5), clock: clock))
    await taken.gate.passed()
    taken.drop()
    let identity = StepIdentity(id: 1, name: "lost")
    #expect(text(await handle.outcome) == "failed \(PromiseError.abandoned(identity))")
  }

  // Fails if the step ends in the transition that asks it to stop: the thread of its handler, or one
  // that reads its state, is then faster than the thread that calls the cancel handlers.
  @Test(
    "a step whose time is over does not end before its cancel handlers have returned",
    .shows(Managing.timeout), arguments: [true, false], [true, false])
  func calledOffFirst(_ isOnStack: Bool, _ waitsForThen: Bool) async {
    let (manager, clock, taken) = (manager, clock, Taken())
    let (canceling, canceled, told, begun) = (Gate(), Gate(), Gate(), Gate())
    let handler = taken.handler
    let slow = Step { then in
      then.onCancel {
        canceling.open()
        canceled.block()
      }
      handler(then)
      begun.open()
      if isOnStack {
        canceling.block()
        then()
      }
    }
    let steps = Log<StepHandle>()
    await withCheckedContinuation { continuation in
      onOwnThread {
        steps.append(
          manager.add(slow.timeout(.seconds(5), waitsForThen: waitsForThen, clock: clock)))
        continuation.resume()
      }
      onOwnThread {
        begun.block()
        clock.slept.block()
        clock.advance(by: .seconds(5))
      }
    }
    await canceling.passed()
    // Ended by itself while it is called off.
    if !isOnStack { taken.call() }
    guard let handle = steps.last else { return }
    handle.observe { _ in told.open() }
    #expect(text(handle.state) == "running")
    #expect(!told.isOpen)
    canceled.open()
    await told.passed()
    #expect(text(handle.state).hasPrefix("failed not done"))
    #expect(reports.all.isEmpty)
    await manager.idle()
  }

  // Fails if the handler runs early, or the queue goes on meanwhile.
  @Test("a delayed step keeps its place in the queue", .shows(Managing.delay))
  func delay() async {
    let (manager, log) = (manager, Log<Int>())
    manager.add(
      Step("late") { then in
        log.append(1)
        then()
      }.delay(.seconds(3), clock: clock))
    manager.add { then in
      log.append(2)
      then()
    }
    await clock.somebodySleeps()
    clock.advance(by: .seconds(2))
    #expect(log.all.isEmpty)
    clock.advance(by: .seconds(1))
    await manager.idle()
    #expect(log.all == [1, 2])
  }

  // Fails if the work begins although the step was cancelled, or the queue stands still.
  @Test("a step that is cancelled during its delay ends without its work")
  func cancelledDelay() async {
    let (manager, log) = (manager, Log<Int>())
    let handle = manager.add(
      Step { then in
        log.append(1)
        then()
      }.delay(.seconds(3), clock: clock))
    await clock.somebodySleeps()
    handle.cancel()
    #expect(text(await handle.outcome) == "cancelled")
    await manager.idle()
    clock.advance(by: .seconds(3))
    #expect(log.all.isEmpty && clock.sleepers == 0)
  }

  // Fails if the wait is called off first: its end may let go of the last `then` before the step is
  // over, which has failed then, as one that dropped it.
  @Test(
    "a step that is cancelled during its delay is over before its wait is called off",
    .shows(Managing.delay))
  func cancelledBeforeCalledOff() async {
    let (manager, log) = (manager, Log<String>())
    let clock = ManualClock { log.append("called off") }
    let handle = manager.add(Step { then in then() }.delay(.seconds(3), clock: clock))
    handle.observe { log.append(text($0)) }
    await clock.somebodySleeps()
    handle.cancel()
    #expect(log.all == ["cancelled", "called off"])
  }

  // Fails if a drop after the delay is hidden by what ended the delay.
  @Test("a then that is dropped after the delay is noticed")
  func droppedAfterDelay() async {
    let manager = manager
    let handle = manager.add(Step { _ in }.delay(.seconds(3), clock: clock))
    await clock.somebodySleeps()
    clock.advance(by: .seconds(3))
    #expect(text(await handle.outcome).contains("dropped its `then`"))
  }

  // Fails if the time limit's `then` does not take the lock, or a grace period that is over decides
  // before the handler has returned.
  @Test(
    "a then that is called in time counts, although its handler takes longer",
    .shows(Managing.timeout, Managing.grace), arguments: [nil, Failed()], [true, false])
  func inTimeOnStack(_ error: Failed?, _ isTimeOut: Bool) {
    let manager = manager
    let step = Step { then in
      then(error)
      // What the timer does when the time is over.
      if isTimeOut {
        manager.order.timeOut(1, PromiseError.timedOut(.seconds(5)), waitsForThen: false)
      } else {
        manager.cancelAll()
        _ = manager.order.transition { $0.endCancelled(id: 1, &$1) }
      }
    }
    let handle = manager.add(isTimeOut ? step.timeout(.seconds(5), clock: clock) : step)
    #expect(text(handle.state) == (error == nil ? "succeeded" : "failed Failed(number: 0)"))
    #expect(reports.all.isEmpty)
  }

  // Fails if a call on the stack counts after the time is over, or does not after a grace period.
  @Test(
    "a then on the stack is late after a time limit, and counts after a grace period",
    .shows(Managing.lateThen, Managing.grace), arguments: [true, false])
  func lateOnStack(_ isTimeOut: Bool) {
    let manager = manager
    let step = Step { then in
      if isTimeOut {
        manager.order.timeOut(1, PromiseError.timedOut(.seconds(5)), waitsForThen: false)
      } else {
        manager.cancelAll()
        _ = manager.order.transition { $0.endCancelled(id: 1, &$1) }
      }
      then()
    }
    let handle = manager.add(isTimeOut ? step.timeout(.seconds(5), clock: clock) : step)
    #expect(text(handle.state).hasPrefix(isTimeOut ? "failed not done" : "succeeded"))
    #expect(
      reports.all == (isTimeOut ? [.thenCalledLate(StepIdentity(id: 1, name: nil))] : []))
  }

  /// The system's clock, which tells when somebody sleeps and when nobody does.
  private struct WatchedClock: Clock {
    let began = Gate()
    let ended = Gate()

    var now: ContinuousClock.Instant { .now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
      began.open()
      defer { ended.open() }
      try await ContinuousClock().sleep(until: deadline, tolerance: tolerance)
    }
  }

  // Fails if the time reaches the clock as it is: the system's clock cannot count so far, and traps.
  @Test("a time that is too long for any clock is for ever", arguments: [true, false])
  func longest(_ isTimeOut: Bool) async {
    let (manager, clock, taken) = (manager, WatchedClock(), Taken())
    let step = Step(nil, taken.handler)
    let longest = Duration.seconds(Int64.max)
    if isTimeOut {
      manager.add(step.timeout(longest, clock: clock))
    } else {
      manager.add(step.delay(longest, clock: clock)).cancel()
    }
    await clock.began.passed()
    if isTimeOut { taken.call() }
    await clock.ended.passed()
    await manager.idle()
  }

  // Fails if modifiers do not nest.
  @Test("modifiers may be put on top of one another, on any step")
  func nested() async {
    struct Plain: Promisable {
      let log: Log<Int>
      var handler: Handler {
        { then in
          log.append(1)
          then(log.count < 3 ? Failed() : nil)
        }
      }
    }
    let (manager, log) = (manager, Log<Int>())
    let step = Plain(log: log).retry(5).delay(.seconds(1), clock: clock)
      .timeout(.seconds(10), clock: clock)
    let handle = manager.add(step)
    while clock.sleepers < 2 { await Task.yield() }
    clock.advance(by: .seconds(1))
    #expect(text(await handle.outcome) == "succeeded")
    #expect(log.count == 3)
  }
}
