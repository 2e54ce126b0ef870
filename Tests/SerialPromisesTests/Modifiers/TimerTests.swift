import class Foundation.ProcessInfo
import TestSupport
import Testing

@testable import SerialPromises

/// Timers: their threads, their time, and the objects that they retain.
struct TimerTests {
  /// A clock that throws instead of sleeping.
  private let clock = ClosureClock(rest: { _ in throw Failed(number: 7) })

  // Times out after a minute if a timer needs a thread of the cooperative pool: put the wait of
  // every clock into a task.
  @Test("timers fire while every thread of the cooperative pool is blocked")
  func blockedPool() throws {
    let gate = Gate()
    defer { gate.open() }
    for _ in 0..<ProcessInfo.processInfo.activeProcessorCount * 2 {
      Task.detached { gate.block() }
    }
    let minute = Duration.seconds(60)
    #expect(try Promise.value(1, after: .milliseconds(1)).wait(timeout: minute) == 1)
    let suspending = Promise.value(2, after: .milliseconds(1), clock: SuspendingClock())
    #expect(try suspending.wait(timeout: minute) == 2)
    let manager = PromiseManager()
    let taken = Taken()
    let handler = taken.handler
    let handle = manager.add(
      Step { then in
        then.onCancel { taken.call() }
        handler(then)
      }.timeout(.milliseconds(2)))
    try manager.waitUntilIdle(timeout: minute)
    #expect(text(handle.state).hasPrefix("failed"))
  }

  // Fails if a source that Dispatch fires before the clock's time counts as fired, or is not armed
  // again.
  @Test("a timer that fires early is armed again until no time remains")
  func early() async {
    let remaining = Locked([3, 2, 1, 0])
    let done = Gate()
    let source = TimerSource {
      .milliseconds(remaining.withLock { $0.isEmpty ? -1 : $0.removeFirst() })
    } action: {
      done.open()
    }
    await done.passed()
    #expect(remaining.withLock { $0.isEmpty })
    source.cancel()
  }

  // Fails if the captures of the action are retained until Dispatch or the clock releases them: do
  // not take the action out in `cancel`.
  @Test("a canceled timer has released its action", arguments: [true, false])
  func canceled(_ isDropped: Bool) {
    weak var captured: Sentinel?
    func make(_ clock: some Clock<Duration>) -> Timer {
      let sentinel = Sentinel()
      captured = sentinel
      return Timer(after: .seconds(3_600), on: clock) { _ in sentinel.touch() }
    }
    func check(_ clock: some Clock<Duration>) {
      var timer: Timer? = make(clock)
      #expect(captured != nil)
      if isDropped { timer = nil } else { timer?.cancel() }
      #expect(captured == nil)
    }
    check(ContinuousClock())
    check(SuspendingClock())
    check(ManualClock())
  }

  // Hangs if a clock that throws counts as a canceled timer.
  @Test("a delay whose clock throws fails with the clock's error", .shows(Promising.time))
  func brokenDelay() async {
    let error = "failed Failed(number: 7)"
    #expect(await Promise.value(1, after: .seconds(1), clock: clock).outcome == error)
    #expect(await Promise.value(1).delay(.seconds(1), clock: clock).outcome == error)
    let failing = Promise<Int> { throw Failed(number: 1) }
    #expect(await failing.retry(3, delay: .seconds(1), clock: clock).outcome == error)
  }

  // Hangs if a clock that throws counts as a canceled timer; fails if the step is not canceled.
  @Test("a time limit whose clock throws elapses, with the clock's error", .shows(Managing.timeout))
  func brokenLimit() async {
    let error = "failed Failed(number: 7)"
    let deferred = Deferred<Int>()
    #expect(await deferred.promise.timeout(.seconds(1), clock: clock).outcome == error)
    let (manager, log, taken) = (PromiseManager(diagnostics: .silent), Log<String>(), Taken())
    let handler = taken.handler
    let limited = Step { then in
      then.onCancel { log.append("canceled") }
      handler(then)
    }
    let handle = manager.add(limited.timeout(.seconds(1), clock: clock))
    #expect(text(await handle.outcome) == error)
    #expect(log.all.count <= 1)
    let stubborn = manager.add(taken.handler)
    stubborn.cancel(grace: .seconds(1), clock: clock)
    #expect(text(await stubborn.outcome) == "cancelled")
  }

  // Fails if the timer of a grace period or limit, which retains the order, is kept until its time.
  @Test("the timer of a step is released when the step ends", arguments: 0..<3)
  func stepHasEnded(_ way: Int) {
    weak var order: Locked<SerialOrder>?
    func work() {
      let (manager, taken) = (PromiseManager(), Taken())
      order = manager.order
      let step = Step(nil, taken.handler)
      let handle = manager.add(way == 2 ? step.timeout(.seconds(3_600)) : step)
      if way == 0 { handle.cancel(grace: .seconds(3_600)) }
      if way == 1 { manager.cancelAll(grace: .seconds(3_600)) }
      taken.call()
    }
    work()
    #expect(order == nil)
  }
}
