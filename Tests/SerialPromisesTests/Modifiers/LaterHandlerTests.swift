import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Handlers that are called after their step has begun follow the same rules as other handlers.
struct LaterHandlerTests {
  private let clock = ManualClock()
  private let reports = Reports()

  private var manager: PromiseManager { PromiseManager(diagnostics: reports.place) }

  /// Modifiers that begin a step's work later than the step.
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

  // Fails if the order does not register that the work's handler is on the stack.
  @Test(
    "the next step starts after the handler has returned, even if the work began late",
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
      await clock.waitForSleeper()
      clock.advance(by: .seconds(3))
    }
    await manager.idle()
    #expect(log.all == ["first begins", "first returns", "second"])
  }

  // Fails if the timeout ends the step while its handler is on the stack.
  @Test(
    "a timeout waits for the handler to return, even if the work began late",
    .shows(Managing.neverTwo, Managing.timeout), arguments: Later.allCases)
  func timeoutInside(_ later: Later) async {
    let manager = PromiseManager(on: DispatchQueue(label: "steps"), diagnostics: reports.place)
    let (begun, notified, proceed, log) = (Gate(), Gate(), Gate(), Log<String>())
    let step = Step { then in
      then.onCancel { notified.open() }
      begun.open()
      proceed.block()
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
    await clock.waitForSleeper()
    clock.advance(by: .seconds(5))
    await notified.passed()
    #expect(text(handle.state) == "running")
    proceed.open()
    #expect(text(await handle.outcome).contains("not done within"))
    await manager.idle()
    #expect(log.all == ["first returns", "second"])
  }

  // Fails if the work is called although the step has ended, or does not check for cancellation
  // when its turn comes.
  @Test(
    "the work does not begin if the step ended or was canceled when the delay elapsed",
    .shows(Managing.neverTwo, Managing.delay), arguments: [true, false])
  func endedAsDelayEnds(_ isTimedOut: Bool) async {
    let (queue, proceed, log) = (DispatchQueue(label: "steps"), Gate(), Log<Int>())
    let manager = PromiseManager(on: queue, diagnostics: reports.place)
    let step = Step { then in
      log.append(1)
      then()
    }
    let handle = manager.add(
      step.delay(.seconds(3), clock: clock).timeout(.seconds(5), clock: clock))
    while clock.sleepers < 2 { await Task.yield() }
    queue.async { proceed.block() }
    clock.advance(by: .seconds(3))
    while manager.order.withLock({ $0.phase }) != .resuming { await Task.yield() }
    if isTimedOut { clock.advance(by: .seconds(2)) } else { handle.cancel() }
    if isTimedOut { _ = await handle.outcome }
    proceed.open()
    #expect(text(await handle.outcome).hasPrefix(isTimedOut ? "failed not done" : "cancelled"))
    await manager.idle()
    #expect(log.count == 0 && reports.all.isEmpty)
  }

  // Hangs if a delayed step continues only with the latest `then`, or with none after two delays.
  @Test("a step may be delayed twice, and pass its then to several delayed steps")
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
    await clock.waitForSleeper()
    clock.advance(by: .seconds(2))
    #expect(text(await handle.outcome) == "succeeded")
    #expect(log.all == [1, 2])
  }
}
