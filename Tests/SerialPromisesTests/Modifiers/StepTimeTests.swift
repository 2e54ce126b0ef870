import Dispatch
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
        == "failed not done within 5.0 seconds; the work may still be going on")
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
        == "failed not done within 5.0 seconds; the work may still be going on")
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

  // Fails if a drop after the delay is hidden by what ended the delay.
  @Test("a then that is dropped after the delay is noticed")
  func droppedAfterDelay() async {
    let manager = manager
    let handle = manager.add(Step { _ in }.delay(.seconds(3), clock: clock))
    await clock.somebodySleeps()
    clock.advance(by: .seconds(3))
    #expect(text(await handle.outcome).contains("dropped its `then`"))
  }

  /// How a step's work comes to begin later than the step.
  enum Later: CaseIterable {
    case delayed, retried, delayedAndRetried

    func applied(to step: Step, _ clock: ManualClock) -> Step {
      switch self {
      case .delayed: step.delay(.seconds(3), clock: clock)
      case .retried: step.retry(1)
      case .delayedAndRetried: step.delay(.seconds(3), clock: clock).retry(1)
      }
    }
  }

  // Fails if the order does not know that the work's handler is on the stack.
  @Test(
    "the next step starts when the handler has returned, however late its work began",
    .shows(Managing.neverTwo, Managing.delay), arguments: Later.allCases)
  func thenInside(_ later: Later) async {
    let (manager, log) = (manager, Log<String>())
    let step = Step { then in
      log.append("first begins")
      then()
      log.append("first returns")
    }
    manager.add(later.applied(to: step, clock))
    manager.add { then in
      log.append("second")
      then()
    }
    if later != .retried {
      await clock.somebodySleeps()
      clock.advance(by: .seconds(3))
    }
    await manager.idle()
    #expect(log.all == ["first begins", "first returns", "second"])
  }

  // Fails if the time-out ends the step while its handler is on the stack.
  @Test(
    "a time-out waits for the handler to return, however late its work began",
    .shows(Managing.neverTwo, Managing.timeout), arguments: Later.allCases)
  func timeoutInside(_ later: Later) async {
    let manager = PromiseManager(on: DispatchQueue(label: "steps"), diagnostics: reports.place)
    let (begun, told, goOn, log) = (Gate(), Gate(), Gate(), Log<String>())
    let step = Step { then in
      then.onCancel { told.open() }
      begun.open()
      goOn.block()
      log.append("first returns")
    }
    let handle = manager.add(
      later.applied(to: step, clock).timeout(.seconds(5), clock: clock))
    manager.add { then in
      log.append("second")
      then()
    }
    if later != .retried {
      while clock.sleepers < 2 { await Task.yield() }
      clock.advance(by: .seconds(3))
    }
    await begun.passed()
    await clock.somebodySleeps()
    clock.advance(by: .seconds(5))
    await told.passed()
    #expect(text(handle.state) == "running")
    goOn.open()
    #expect(text(await handle.outcome).contains("not done within"))
    await manager.idle()
    #expect(log.all == ["first returns", "second"])
  }

  // Fails if the work is called although the step is over, or if it does not ask whether it is
  // cancelled when its turn has come.
  @Test(
    "the work does not begin when the step was ended, or cancelled, as the delay ended",
    .shows(Managing.neverTwo, Managing.delay), arguments: [true, false])
  func endedAsDelayEnds(_ isTimedOut: Bool) async {
    let (queue, goOn, log) = (DispatchQueue(label: "steps"), Gate(), Log<Int>())
    let manager = PromiseManager(on: queue, diagnostics: reports.place)
    let step = Step { then in
      log.append(1)
      then()
    }
    let handle = manager.add(
      step.delay(.seconds(3), clock: clock).timeout(.seconds(5), clock: clock))
    while clock.sleepers < 2 { await Task.yield() }
    queue.async { goOn.block() }
    clock.advance(by: .seconds(3))
    while manager.order.withLock({ $0.phase }) != .resuming { await Task.yield() }
    if isTimedOut { clock.advance(by: .seconds(2)) } else { handle.cancel() }
    if isTimedOut { _ = await handle.outcome }
    goOn.open()
    #expect(text(await handle.outcome).hasPrefix(isTimedOut ? "failed not done" : "cancelled"))
    await manager.idle()
    #expect(log.count == 0 && reports.all.isEmpty)
  }

  // Fails if a step goes on only with what came last, or with nothing when it has two delays.
  @Test("a step may be delayed twice, and hand its then to several delayed ones")
  func severalDelays() async {
    let (manager, clock, log, begun) = (manager, clock, Log<Int>(), Gate())
    let first = Step { _ in
      log.append(1)
      begun.open()
    }.delay(.seconds(1), clock: clock)
    let second = Step { then in
      log.append(2)
      then()
    }.delay(.seconds(2), clock: clock).delay(.seconds(3), clock: clock)
    let handle = manager.add { then in
      first.handler(then)
      second.handler(then)
    }
    while clock.sleepers < 2 { await Task.yield() }
    clock.advance(by: .seconds(1))
    await begun.passed()
    clock.advance(by: .seconds(2))
    await clock.somebodySleeps()
    clock.advance(by: .seconds(2))
    #expect(text(await handle.outcome) == "succeeded")
    #expect(log.all == [1, 2])
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
