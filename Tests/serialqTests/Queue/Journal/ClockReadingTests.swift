@testable import SerialqSystem
import Testing

@testable import SerialqQueue

/// Delays and durations while the clock is changed.
@Suite struct ClockReadingTests {
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
    let spec = spec("true", JobSpec.Details(limits: Limits(retries: 1, retryDelay: 5)))
    return serialqTests.queue(.add(1, spec), .start(1), .end(1, .exited(1), at: clocks(0)))
  }

  // Fails if the date decides: set back, it delays the retry by an hour; set forward, it removes
  // the delay.
  @Test(
    "a retry comes after its delay, even if the clock is changed",
    arguments: [-hour, -1, 0, 1, hour])
  func retry(shift: Int64) {
    let queue = queue()
    let due = clocks(5).monotonic
    for second in 0...4 as ClosedRange<Int64> {
      #expect(queue.next(now: clocks(second, setBy: shift)) == .later(due))
    }
    #expect(queue.next(now: clocks(5, setBy: shift)) == queue.firstWaiting.map { .run($0) })
  }

  // Fails if the monotonic clock of another boot counts, or a date in the far future.
  @Test("after a reboot, the date decides about a delay, which is not longer than was asked for")
  func reboot() {
    let queue = queue()
    #expect(queue.firstWaiting?.delay(clocks(2, boot: "c")) == 3_000_000_000)
    #expect(queue.firstWaiting?.delay(clocks(2, setBy: -Self.hour, boot: "c")) == 5_000_000_000)
    #expect(queue.firstWaiting?.delay(clocks(2, setBy: Self.hour, boot: "c")) == 0)
    // Further than nanoseconds can count.
    let ages = clocks(2, setBy: -10_000 * 366 * 24 * Self.hour, boot: "c")
    #expect(queue.firstWaiting?.delay(ages) == 5_000_000_000)
  }

  // Fails if elapsed time is the difference of two dates although the monotonic clock is known, or
  // if the monotonic clock of another boot is trusted.
  @Test("elapsed time is measured by the monotonic clock while the boot is the same")
  func sinceStart() throws {
    func job(_ uptime: Int64, boot: String = "b") throws -> Job {
      let clocks = moment(date, monotonic: uptime, boot: boot)
      return try #require(serialqTests.queue(.add(1), .start(1, at: clocks)).job(1))
    }
    let (known, unknown) = (try job(clocks(0).monotonic), try job(0, boot: ""))
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
}
