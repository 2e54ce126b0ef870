import SerialqQueue
import SerialqSystem

/// When a job that waits for its next attempt may start, by the monotonic clock.
///
/// The journal stores a date. With the date alone, setting the clock back would postpone the
/// attempt each time, and setting it forward would start it at once. So the date is read only when
/// the job is first seen; from then on the remaining delay counts.
package struct RetryDelay: Sendable {
  private var known: (id: JobID, due: Timestamp, start: Int64)?

  package init() {}

  /// The end of the delay of the last job asked about, by the monotonic clock.
  var end: Int64? { known?.start }

  /// The date to use for decisions about `job`, the first waiting job.
  ///
  /// Not affected by changes of the clock since the job was first seen.
  package mutating func date(for job: Job?, _ now: ClockReading) -> Timestamp {
    guard let job, let due = job.run?.due else {
      known = nil
      return now.date
    }
    if known?.id != job.id || known?.due != due {
      // If the clock was set back before, the remaining time would exceed the delay.
      let delay = Int64(job.limits.retryDelay) * 1_000_000
      let left = min(max(0, due.microseconds - now.date.microseconds), delay)
      known = (job.id, due, now.monotonic + left * 1_000)
    }
    // Rounded up: otherwise the delay would end slightly early.
    let left = (max(0, (end ?? 0) - now.monotonic) + 999) / 1_000
    return Timestamp(microseconds: due.microseconds - left)
  }
}
