import TestSupport
import Testing

@testable import SerialPromises

/// Time limits of steps.
struct StepTimeTests {
  private let clock = ManualClock()
  private let reports = Reports()

  private var manager: PromiseManager { PromiseManager(diagnostics: reports.place) }

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
  func canceledFirst(_ isOnStack: Bool, _ isAbandoned: Bool) async {
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
          manager.add(slow.timeout(.seconds(5), abandoning: isAbandoned, clock: clock)))
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

  // Fails if the `then` of the time limit does not take the lock, or an elapsed grace period takes
  // effect before the handler has returned; if a call on the stack takes effect after the time
  // limit, or does not after a grace period.
  @Test(
    "a then on the stack takes effect, except after a time limit",
    .shows(Managing.timeout, .grace, .lateThen),
    arguments: [(nil, false), (Failed(), false), (nil, true)] as [(error: Failed?, isLate: Bool)],
    [true, false])
  func onStack(_ call: (error: Failed?, isLate: Bool), _ isTimeOut: Bool) {
    let manager = manager
    let step = Step { then in
      if call.isLate { manager.endFirstStep(isTimeOut: isTimeOut) }
      then(call.error)
      if !call.isLate { manager.endFirstStep(isTimeOut: isTimeOut) }
    }
    let limited = step.timeout(.seconds(5), abandoning: true, clock: clock)
    let handle = manager.add(isTimeOut ? limited : step)
    let isTooLate = call.isLate && isTimeOut
    let outcome = call.error.map { "failed \($0)" } ?? "succeeded"
    #expect(text(handle.state).hasPrefix(isTooLate ? "failed not done" : outcome))
    #expect(reports.all == (isTooLate ? [.thenCalledLate(StepIdentity(id: 1, name: nil))] : []))
  }

  // Traps if the duration is passed to the clock unchanged: the system clock overflows.
  @Test("a time beyond the range of any clock never elapses", arguments: [true, false])
  func longest(_ isStep: Bool) async {
    let (manager, taken, began, ended) = (manager, Taken(), Gate(), Gate())
    let clock = ClosureClock(rest: { deadline in
      began.open()
      defer { ended.open() }
      try await ContinuousClock().sleep(until: deadline)
    })
    let longest = Duration.seconds(Int64.max)
    let handle =
      isStep
      ? manager.add(Step(nil, taken.handler).timeout(longest, clock: clock))
      : manager.add(Promise.value(1).delay(longest, clock: clock))
    await began.passed()
    if isStep { taken.call() } else { handle.cancel() }
    await ended.passed()
    await manager.idle()
  }

  // Fails if modifiers cannot be nested.
  @Test("a step of any type can have several time limits: the first one to elapse takes effect")
  func nested() async {
    struct Plain: Promisable {
      let taken: Taken
      var handler: Handler { taken.handler }
    }
    let (manager, taken) = (manager, Taken())
    let step = Plain(taken: taken).timeout(.seconds(2), clock: clock)
      .timeout(.seconds(9), abandoning: true, clock: clock)
    let handle = manager.add(step)
    await clock.elapse(.seconds(2), sleepers: 2)
    #expect(text(await handle.outcome).contains("within 2.0 seconds"))
    #expect(!manager.isIdle)
    // The later limit still decides when the queue continues.
    clock.advance(by: .seconds(7))
    await manager.idle()
    taken.call()
  }
}

extension PromiseManager {
  /// The timer's action when the time limit of the first step elapses, or its grace period.
  fileprivate func endFirstStep(isTimeOut: Bool) {
    guard isTimeOut else {
      cancelAll()
      return order.transition { _ = $0.endCancelled(id: 1) }
    }
    let error = PromiseError.timedOut(.seconds(5))
    let isOver = order.transition {
      $0.timeOut(id: 1, error: error, abandoning: true) != nil
    }
    if !isOver { _ = order.transition { $0.timedOut(id: 1) } }
  }
}
