import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// No interval has more starts than the rate allows.
struct RateTests {
  private let clock = ManualClock()
  private let began = Log<Int>()

  private var rate: Rate { Rate(2, per: .seconds(10)) }
  private var manager: PromiseManager { PromiseManager(rate: rate, clock: clock) }

  /// A step that records its start time.
  private var step: Step {
    Step { [clock, began] then in
      began.append(Int(clock.now.offset.components.seconds))
      then()
    }
  }

  // Fails if the clock is read again, after how long the wait is has been found.
  @Test("a step that waits for the rate is not late because time passes meanwhile")
  func looksOnce() async {
    let manager = PromiseManager(rate: Rate(1, per: .seconds(10)), clock: clock)
    manager.add { then in then() }
    clock.tick(.seconds(1))
    manager.add { then in then() }
    await clock.waitForSleeper()
    #expect(clock.nextDeadline?.offset == .seconds(10))
  }

  // Fails if old starts are counted, or are dropped too soon when the ring buffer wraps.
  @Test("no interval has more starts than the rate allows", arguments: [1, 2, 3])
  func random(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let rate = Rate(Int.random(in: 1...5, using: &random), per: .seconds(7))
    let throttle = Throttle(rate)
    var (time, starts) = (Duration.zero, [Duration]())
    for _ in 1...1_000 {
      time += .milliseconds(Int.random(in: 0...3_000, using: &random))
      let recent = starts.filter { $0 > time - rate.interval }
      let delay = throttle.delay(at: time)
      #expect((delay == .zero) == (recent.count < rate.starts))
      if delay > .zero {
        #expect(time + delay == recent[recent.count - rate.starts] + rate.interval)
      } else {
        throttle.begin(at: time)
        starts.append(time)
      }
    }
  }

  // Fails if a manager that waits for its rate is idle or running, or is released.
  @Test("a manager that waits for its rate is at rest, is not idle, and stays alive")
  func waiting() async {
    weak var manager: PromiseManager?
    weak var order: Locked<SerialOrder>?
    do {
      let made = self.manager
      (manager, order) = (made, made.order)
      for _ in 1...3 { made.add(step) }
      #expect(!made.isIdle && made.runningStep == nil && made.waitingCount == 1)
      #expect(throws: PromiseError.timedOut(.zero)) { try made.waitUntilIdle(timeout: .zero) }
      await made.atRest()
    }
    #expect(manager != nil)
    await clock.elapse(.seconds(10))
    while manager != nil || order != nil { await Task.yield() }
    #expect(began.all == [0, 0, 10])
  }

  // Fails if the end of the wait starts a step of a paused manager, if the wait continues without a
  // purpose, or if it restarts on resume.
  @Test("pausing cancels the wait for the rate, and resuming waits for the remaining time")
  func pause() async {
    let manager = manager
    for _ in 1...3 { manager.add(step) }
    await clock.elapse(.seconds(4))
    manager.pause()
    #expect(clock.sleepers == 0)
    clock.advance(by: .seconds(2))
    manager.resume()
    await clock.elapse(.seconds(3))
    #expect(began.all == [0, 0])
    await clock.elapse(.seconds(1))
    await manager.idle()
    #expect(began.all == [0, 0, 10])
  }

  // Fails if the wait retains a paused manager.
  @Test("a manager that is paused while it waits for its rate is released with its last owner")
  func pausedDropped() {
    weak var manager: PromiseManager?
    let handle = {
      let made = self.manager
      manager = made
      for _ in 1...2 { made.add(step) }
      let handle = made.add(step)
      made.pause()
      return handle
    }()
    #expect(manager == nil)
    #expect(text(handle.state) == "cancelled")
  }

  // Fails if waiters for idle are resumed only when the interval ends, or the wait retains the
  // manager.
  @Test(
    "canceling the steps that wait for the rate makes the manager idle at once",
    arguments: Removal.allCases)
  func cancel(_ removal: Removal) async throws {
    weak var manager: PromiseManager?
    do {
      let made = self.manager
      manager = made
      for _ in 1...2 { made.add(step) }
      let handle = made.add(step)
      let waiter = Task { await made.idle() }
      await made.idleWaiting(1)
      await clock.waitForSleeper()
      removal.perform(on: made) { handle.cancel() }
      await waiter.value
      try made.blockUntilIdle(timeout: .zero)
      #expect(clock.sleepers == 0)
      // A step added afterwards waits for the remaining time.
      made.add(step)
      #expect(began.all == [0, 0] && !made.isIdle)
      await clock.elapse(.seconds(10))
      await made.idle()
      #expect(began.all == [0, 0, 10])
    }
    while manager != nil { await Task.yield() }
  }

  // Fails if a step that began before the end of its wait is counted from its start, and not from
  // `time + delay` in `SerialOrder.next(at:)`: the third wait would end at 10, like the first.
  @Test(
    "a step whose wait ended early is counted from the scheduled end of the wait",
    arguments: [true, false])
  func endedEarly(_ throwing: Bool) async {
    let (start, deadlines) = (ContinuousClock.now, Log<Duration>())
    let clock = ClosureClock {
      start
    } rest: { deadline in
      deadlines.append(start.duration(to: deadline))
      if throwing { throw Failed() }
    }
    let manager = PromiseManager(rate: rate, clock: clock)
    for _ in 1...6 { manager.add(step) }
    await manager.idle()
    #expect(began.count == 6)
    #expect(deadlines.all == [10, 10, 20, 20].map { .seconds($0) })
  }

  // Fails if work is started outside the rate or on another queue, or its value is lost.
  @Test(
    "run, enqueue, addWhenRoom and a queue given with on: respect the rate",
    arguments: [true, false])
  func others(_ hasQueue: Bool) async throws {
    let manager = PromiseManager(
      on: hasQueue ? DispatchQueue(label: "steps") : nil, rate: Rate(1, per: .seconds(10)),
      clock: clock)
    let (clock, step) = (clock, step)
    let first = try await manager.run { clock.now.offset }
    let second = manager.enqueue { clock.now.offset }
    await clock.elapse(.seconds(10))
    #expect(try await second.value == .seconds(10))
    let third = Task { try await manager.run { clock.now.offset } }
    await clock.elapse(.seconds(10))
    #expect(try await third.value == .seconds(20))
    #expect(first == .zero)
    let handle = try await manager.addWhenRoom(nil, step.handler)
    await clock.elapse(.seconds(10))
    #expect(text(await handle.outcome) == "succeeded")
    #expect(began.all == [30])
  }

  // Hangs if the clock is read under the lock; fails if a manager without a rate reads it.
  @Test("the clock may use the manager, and is read only if needed")
  func clockOfUser() async {
    let (used, reads) = (Locked<PromiseManager?>(nil), Log<Bool>())
    let read = { @Sendable in
      reads.append(used.withLock { $0 }?.isIdle ?? true)
      return ContinuousClock.now
    }
    let asking = ClosureClock(read: read) { _ in _ = read() }
    let limited = PromiseManager(rate: rate, clock: asking)
    used.withLock { $0 = limited }
    for _ in 1...3 { limited.add(step) }
    await limited.idle()
    #expect(reads.removeAll().count >= 3)
    used.withLock { $0 = nil }
    let plain = PromiseManager(clock: asking)
    plain.add(step)
    await plain.idle()
    #expect(reads.count == 0)
  }
}
