/// What the clocks said at one moment.
package struct ClockReading: Equatable, Sendable {
  package var date: Timestamp
  package var monotonic: Int64
  /// The start of the machine since which `monotonic` counts; see ``Machine/boot()``.
  package var boot: Bytes
}

/// The two clocks: one tells the date and may jump, the other measures and may not.
package enum Clock {
  /// The date, by `clock_gettime(CLOCK_REALTIME)`.
  package static func now() -> Timestamp {
    Timestamp(microseconds: nanoseconds(CLOCK_REALTIME) / 1_000)
  }

  /// Nanoseconds since some fixed moment, by `clock_gettime(CLOCK_MONOTONIC)`.
  package static func monotonic() -> Int64 { nanoseconds(CLOCK_MONOTONIC) }

  /// What every clock says now.
  package static func reading() -> ClockReading {
    ClockReading(date: now(), monotonic: monotonic(), boot: Machine.boot())
  }

  /// A duration of less than centuries, as ``monotonic()`` counts it.
  package static func nanoseconds(_ duration: Duration) -> Int64 {
    duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000
  }

  private static func nanoseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    // Cannot fail: the clock is a constant that the system has, the pointer is good.
    _ = clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
