@testable import SerialqQueue
@testable import SerialqSystem
import Testing

@testable import SerialqRunner

/// Delays and durations while the clock is changed.
@Suite struct RetryDelayTests {
  private static let hour: Int64 = 3_600_000_000
  private let date = Timestamp(microseconds: 1_800_000_000_000_000)

  /// The clocks `seconds` later, after the date was changed by the given number of microseconds.
  private func clocks(_ seconds: Int64, setBy shift: Int64 = 0, boot: String = "b") -> ClockReading
  {
    ClockReading(
      date: Timestamp(microseconds: date.microseconds + seconds * 1_000_000 + shift),
      monotonic: 50_000_000_000 + seconds * 1_000_000_000, boot: Bytes(boot.utf8))
  }

  /// A job that failed, and is due for a retry 5 seconds after `date`.
  private func queue() -> Queue {
    var new = newJob(1)
    new.limits = Limits(retries: 1, retryDelay: 5)
    var queue = Queue()
    let due = Timestamp(microseconds: date.microseconds + 5_000_000)
    queue.apply(.added(new))
    queue.apply(.started(id: 1, attempt: 1, at: date, boot: []))
    queue.apply(.ended(id: 1, at: date, duration: 1, how: .exited(1), cause: .itself))
    queue.apply(
      .retried(Retry(id: 1, at: date, attempts: 1, used: 1, place: .first, due: due, isFree: true)))
    return queue
  }

  // Fails if the date decides: set back, it delays the retry by an hour; set forward, it removes
  // the delay.
  @Test(
    "a retry comes after its delay, even if the clock is changed",
    arguments: [-hour, -1, 0, 1, hour])
  func retry(shift: Int64) {
    let queue = queue()
    var delay = RetryDelay()
    func next(_ seconds: Int64, setBy shift: Int64 = 0) -> NextStep {
      queue.next(now: delay.date(for: queue.firstWaiting, clocks(seconds, setBy: shift)))
    }
    let due = Timestamp(microseconds: date.microseconds + 5_000_000)
    #expect(next(0) == .later(due))
    #expect(delay.end == clocks(5).monotonic)
    for second in 1...4 as ClosedRange<Int64> { #expect(next(second, setBy: shift) == .later(due)) }
    #expect(next(5, setBy: shift) == queue.firstWaiting.map { .run($0) })
  }

  // Fails if a later runner trusts the date.
  @Test("a clock that was set back before the runner started does not extend a delay")
  func before() {
    let queue = queue()
    var delay = RetryDelay()
    let before = delay.date(for: queue.firstWaiting, clocks(0, setBy: -Self.hour))
    #expect(queue.next(now: before) != queue.firstWaiting.map { .run($0) })
    let after = delay.date(for: queue.firstWaiting, clocks(5, setBy: -Self.hour))
    #expect(queue.next(now: after) == queue.firstWaiting.map { .run($0) })
  }

  // Fails if elapsed time is the difference of two dates although the monotonic clock is known, or
  // if the monotonic clock of another boot is trusted.
  @Test("elapsed time is measured by the monotonic clock while the boot is the same")
  func sinceStart() throws {
    func job(_ uptime: Int64?) throws -> Job {
      var queue = Queue()
      queue.apply(added(1))
      queue.apply(.started(id: 1, attempt: 1, at: date, boot: Bytes("b"), uptime: uptime))
      return try #require(queue.job(1))
    }
    let (known, unknown) = (try job(clocks(0).monotonic), try job(nil))
    let seven: Int64 = 7_000_000_000
    for shift in [-Self.hour, Self.hour] {
      #expect(known.sinceStart(clocks(7, setBy: shift)) == seven)
    }
    #expect(unknown.sinceStart(clocks(7)) == seven)
    #expect(unknown.sinceStart(clocks(7, setBy: -Self.hour)) == 0)
    // After a reboot, the monotonic clock restarts and can have any value.
    #expect(known.sinceStart(clocks(7, boot: "c")) == seven)
    #expect(known.sinceStart(clocks(7, setBy: Self.hour, boot: "c")) == seven + Self.hour * 1_000)
    #expect(try job(clocks(9).monotonic).sinceStart(clocks(7)) == seven)
  }

  // Fails if the journal does not record it: a new runner would use the date.
  @Test("the journal records the clock of a start, and drops it with the end")
  func journal() throws {
    let start = Event.started(id: 1, attempt: 1, at: date, boot: Bytes("b"), uptime: 42)
    let replayed = try Replayed(Bytes(lines([added(1), start], next: 2).joined()))
    #expect(replayed.queue.job(1)?.run?.uptime == 42 && replayed.damaged.isEmpty)
    var events: [Event] = []
    try replayed.queue.forEachMinimalEvent { events.append($0) }
    #expect(events.contains(start))
    var queue = replayed.queue
    queue.apply(.interrupted(id: 1, at: date))
    #expect(queue.job(1)?.run?.uptime == nil)
  }

  // Fails if dates decide which job ran last, although the queue records it.
  @Test("the job that ran last is the latest by order of execution, regardless of dates")
  func lastStarted() {
    var queue = Queue()
    for id in 1...2 { queue.apply(added(id)) }
    for (id, shift) in [(1, 0), (2, -Self.hour)] {
      let at = clocks(0, setBy: shift).date
      queue.apply(.started(id: id, attempt: 1, at: at, boot: []))
      #expect(queue.lastStarted?.id == id)
      queue.apply(.ended(id: id, at: at, duration: 1, how: .exited(0), cause: .itself))
      #expect(queue.lastStarted?.id == id)
    }
  }
}
