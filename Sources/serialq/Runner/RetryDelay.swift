import SerialqQueue
import SerialqSystem

/// When a job that waits for its next attempt may start, by the clock that does not jump.
///
/// The journal has it as a date. Were that alone looked at, a clock that is set back would put the
/// attempt off, each time anew, and one that is set forward would bring it on at once. So the date
/// counts only when the job is first seen to wait; from then on what is left of its delay does.
package struct RetryDelay: Sendable {
  private var known: (id: JobID, due: Timestamp, start: Int64)?

  package init() {}

  /// When the delay of the job that was asked about last is over, by the monotonic clock.
  var end: Int64? { known?.start }

  /// The date by which to decide about `job`, the first that waits: as it would be had nobody set
  /// the clock since.
  package mutating func date(for job: Job?, _ now: ClockReading) -> Timestamp {
    guard let job, let due = job.run?.due else {
      known = nil
      return now.date
    }
    if known?.id != job.id || known?.due != due {
      // Set back before it was first seen, the clock could make the delay longer than it is.
      let delay = Int64(job.limits.retryDelay) * 1_000_000
      let left = min(max(0, due.microseconds - now.date.microseconds), delay)
      known = (job.id, due, now.monotonic + left * 1_000)
    }
    // Rounded up, or it would be over a moment before its end.
    let left = (max(0, (end ?? 0) - now.monotonic) + 999) / 1_000
    return Timestamp(microseconds: due.microseconds - left)
  }
}
