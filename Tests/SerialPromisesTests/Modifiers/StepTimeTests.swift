import TestSupport
import Testing

@testable import SerialPromises

/// Time limits and delays of steps.
struct StepTimeTests {
  private let clock = ManualClock()
  private let reports = Reports()

  private var manager: PromiseManager { PromiseManager(diagnostics: reports.place) }

  // Hangs if the queue waits for the step; fails if the step is not notified, or its late `then`
  // takes effect.
  @Test(
    "a step that exceeds its time limit is notified and fails, and the queue continues",
    .shows(Managing.timeout, Managing.lateThen))
  func timeout() async {
    let (manager, log, taken) = (manager, Log<String>(), Taken())
    let handler = taken.handler
    let slow = Step("slow") { then in
      then.onCancel { log.append("notified") }
      handler(then)
    }
    let handle = manager.add(slow.timeout(.seconds(5), clock: clock))
    manager.add { then in
      log.append("next")
      then()
    }
    await clock.waitForSleeper()
    #expect(log.all.isEmpty && handle.name == "slow")
    clock.advance(by: .seconds(5))
    #expect(
      text(await handle.outcome)
        == "failed not done within 5.0 seconds; the work may still be running")
    await manager.idle()
    #expect(log.all == ["notified", "next"])
    taken.call()
    #expect(reports.all == [.thenCalledLate(StepIdentity(id: 1, name: "slow"))])
  }

  // Fails if the step ends before its `then`, or with the result of that `then`.
  @Test(
    "with waitsForThen, a step that exceeds its limit still ends when it calls then",
    .shows(Managing.lateThen))
  func waiting() async {
    let (manager, notified, taken) = (manager, Gate(), Taken())
    let handler = taken.handler
    let slow = Step { then in
      then.onCancel { notified.open() }
      handler(then)
    }
    let handle = manager.add(slow.timeout(.seconds(5), waitsForThen: true, clock: clock))
    await clock.waitForSleeper()
    clock.advance(by: .seconds(5))
    await notified.passed()
    #expect(text(handle.state) == "running")
    taken.call()
    #expect(
      text(await handle.outcome)
        == "failed not done within 5.0 seconds; the work may still be running")
    #expect(reports.all.isEmpty)
  }

  // Fails if the timer continues to sleep, or ends a later step.
  @Test("a step that ends in time stops its timer")
  func inTime() async {
    let (manager, taken) = (manager, Taken())
    let handle = manager.add(Step(nil, taken.handler).timeout(.seconds(5), clock: clock))
    await clock.waitForSleeper()
    taken.call()
    #expect(text(await handle.outcome) == "succeeded")
    while clock.sleepers > 0 { await Task.yield() }
  }

  // Hangs if the timer retains `then`.
  @Test("a dropped then is detected before the time limit")
  func dropped() async {
    let (manager, taken) = (manager, Taken())
    let handle = manager.add(Step("lost", taken.handler).timeout(.seconds(5), clock: clock))
    await taken.gate.passed()
    taken.drop()
    let identity = StepIdentity(id: 1, name: "lost")
    #expect(text(await handle.outcome) == "failed \(PromiseError.abandoned(identity))")
  }

  // Fails if the step ends in the transition that asks it to stop: the thread of its handler, or
  // one that reads its state, can then be faster than the thread that calls the cancel handlers.
  @Test(
    "a step that exceeds its limit does not end before its cancel handlers have returned",
    .shows(Managing.timeout), arguments: [true, false], [true, false])
  func canceledFirst(_ isOnStack: Bool, _ waitsForThen: Bool) async {
    let (manager, clock, taken) = (manager, clock, Taken())
    let (canceling, canceled, notified, begun) = (Gate(), Gate(), Gate(), Gate())
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
    // The step ends by itself during the cancellation.
    if !isOnStack { taken.call() }
    guard let handle = steps.last else { return }
    handle.observe { _ in notified.open() }
    #expect(text(handle.state) == "running")
    #expect(!notified.isOpen)
    canceled.open()
    await notified.passed()
    #expect(text(handle.state).hasPrefix("failed not done"))
    #expect(reports.all.isEmpty)
    await manager.idle()
  }

  // Fails if the handler runs early, or the queue continues in the meantime.
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
    await clock.waitForSleeper()
    clock.advance(by: .seconds(2))
    #expect(log.all.isEmpty)
    clock.advance(by: .seconds(1))
    await manager.idle()
    #expect(log.all == [1, 2])
  }

  // Fails if the work begins although the step was canceled; hangs if the queue stops.
  @Test("a step that is canceled during its delay ends without its work")
  func canceledDelay() async {
    let (manager, log) = (manager, Log<Int>())
    let handle = manager.add(
      Step { then in
        log.append(1)
        then()
      }.delay(.seconds(3), clock: clock))
    await clock.waitForSleeper()
    handle.cancel()
    #expect(text(await handle.outcome) == "cancelled")
    await manager.idle()
    clock.advance(by: .seconds(3))
    #expect(log.all.isEmpty && clock.sleepers == 0)
  }

  // Fails if the wait is canceled first: its end may release the last `then` before the step has
  // ended, which fails the step for dropping it.
  @Test(
    "a step that is canceled during its delay ends before its wait is canceled",
    .shows(Managing.delay))
  func canceledBeforeWait() async {
    let (manager, log) = (manager, Log<String>())
    let clock = ManualClock { log.append("wait canceled") }
    let handle = manager.add(Step { then in then() }.delay(.seconds(3), clock: clock))
    handle.observe { log.append(text($0)) }
    await clock.waitForSleeper()
    handle.cancel()
    #expect(log.all == ["cancelled", "wait canceled"])
  }

  // Hangs if the end of the delay hides a `then` dropped after it.
  @Test("a then that is dropped after the delay is detected")
  func droppedAfterDelay() async {
    let manager = manager
    let handle = manager.add(Step { _ in }.delay(.seconds(3), clock: clock))
    await clock.waitForSleeper()
    clock.advance(by: .seconds(3))
    #expect(text(await handle.outcome).contains("dropped its `then`"))
  }

  // Fails if the `then` of the time limit does not take the lock, or an elapsed grace period takes
  // effect before the handler has returned.
  @Test(
    "a then that is called in time takes effect even if its handler takes longer",
    .shows(Managing.timeout, Managing.grace), arguments: [nil, Failed()], [true, false])
  func inTimeOnStack(_ error: Failed?, _ isTimeOut: Bool) {
    let manager = manager
    let step = Step { then in
      then(error)
      // The timer's action when the time elapses.
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

  // Fails if a call on the stack takes effect after the time limit, or does not after a grace
  // period.
  @Test(
    "a then on the stack is late after a time limit, and takes effect after a grace period",
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

  /// The system clock, with gates that open when a task begins or ends a sleep.
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

  // Traps if the duration is passed to the clock unchanged: the system clock overflows.
  @Test("a time beyond the range of any clock never elapses", arguments: [true, false])
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

  // Fails if modifiers cannot be nested.
  @Test("modifiers can be combined, on any step")
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
