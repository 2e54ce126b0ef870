@testable import SerialqQueue
@testable import SerialqSystem
import Testing

@testable import SerialqRunner

/// Delays and durations while somebody sets the clock.
@Suite struct RetryDelayTests {
  private static let hour: Int64 = 3_600_000_000
  private let date = Timestamp(microseconds: 1_800_000_000_000_000)

  /// The clocks `seconds` later, with the date set by so many microseconds meanwhile.
  private func clocks(_ seconds: Int64, setBy shift: Int64 = 0, boot: String = "b") -> ClockReading
  {
    ClockReading(
      date: Timestamp(microseconds: date.microseconds + seconds * 1_000_000 + shift),
      monotonic: 50_000_000_000 + seconds * 1_000_000_000, boot: Bytes(boot.utf8))
  }

  /// A job that failed, and is to be tried again 5 seconds after `date`.
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

  // Fails if the date decides: set back it puts the attempt off by an hour, set forward there is no
  // delay at all.
  @Test(
    "a retry comes after its delay, however the clock is set meanwhile",
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

  // Fails if a runner that comes later takes the date at its word.
  @Test("a clock that was set back before anybody looked makes no delay longer")
  func before() {
    let queue = queue()
    var delay = RetryDelay()
    let before = delay.date(for: queue.firstWaiting, clocks(0, setBy: -Self.hour))
    #expect(queue.next(now: before) != queue.firstWaiting.map { .run($0) })
    let after = delay.date(for: queue.firstWaiting, clocks(5, setBy: -Self.hour))
    #expect(queue.next(now: after) == queue.firstWaiting.map { .run($0) })
  }

  // Fails if the time since the start is that between two dates while the machine knows better, or
  // if the monotonic clock of another start of the machine is believed.
  @Test("how long a job has run is told by the clock that does not jump, as long as it is the same")
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
    // After a reboot: the clock began anew, and could have come anywhere.
    #expect(known.sinceStart(clocks(7, boot: "c")) == seven)
    #expect(known.sinceStart(clocks(7, setBy: Self.hour, boot: "c")) == seven + Self.hour * 1_000)
    #expect(try job(clocks(9).monotonic).sinceStart(clocks(7)) == seven)
  }

  // Fails if the journal does not have it: a new runner would go by the date.
  @Test("the journal has the clock of a start, and forgets it with the end")
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

  // Fails if dates decide which job ran last, though the queue knows it.
  @Test("the job that ran last is the one whose turn was last, whatever the dates say")
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
