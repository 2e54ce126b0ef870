/// The clocks, read at one moment.
package struct ClockReading: Equatable, Sendable {
  package var date: Timestamp
  package var monotonic: Int64
  /// The boot that `monotonic` counts from; see ``Machine/boot``.
  package var boot: Bytes

  package init(date: Timestamp, monotonic: Int64, boot: Bytes) {
    self.date = date
    self.monotonic = monotonic
    self.boot = boot
  }

  package func adding(seconds: Int) -> ClockReading {
    ClockReading(
      date: Timestamp(microseconds: date.microseconds + Int64(seconds) * 1_000_000),
      monotonic: monotonic + Int64(seconds) * 1_000_000_000, boot: boot)
  }
}

/// The two clocks: the date, which can jump, and the monotonic clock, which cannot.
package enum Clock {
  /// The nanoseconds that a journal can contain, 146 years: no sum or difference of two overflows.
  package static let valid: ClosedRange<Int> = 0...(1 << 62) - 1

  /// The date, by `clock_gettime(CLOCK_REALTIME)`.
  package static func now() -> Timestamp { Timestamp(time(of: CLOCK_REALTIME)) }

  /// Nanoseconds since an arbitrary fixed moment, by `clock_gettime(CLOCK_MONOTONIC)`.
  package static func monotonic() -> Int64 {
    let time = time(of: CLOCK_MONOTONIC)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  package static func reading() -> ClockReading {
    ClockReading(date: now(), monotonic: monotonic(), boot: Machine.boot)
  }

  /// Converts a duration to nanoseconds; durations over 292 years overflow.
  package static func nanoseconds(_ duration: Duration) -> Int64 {
    duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000
  }

  private static func time(of clock: clockid_t) -> timespec {
    var time = timespec()
    // Cannot fail: the clock ID is a constant that every system supports, and the pointer is valid.
    _ = clock_gettime(clock, &time)
    return time
  }
}
