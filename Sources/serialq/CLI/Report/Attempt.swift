import SerialqQueue
import SerialqSystem

/// The period of an attempt at a job, and its outcome.
struct Attempt: Equatable, Sendable {
  var start: Timestamp
  /// Equal to the start if the duration is unknown.
  var end: Timestamp
  var state: JobState

  /// The duration; nil if unknown.
  var duration: Duration? {
    state == .interrupted ? nil : .microseconds(end.microseconds - start.microseconds)
  }

  /// Prefers the measured duration: the clock may have been set between the dates.
  ///
  /// Never ends before the start.
  init(start: Timestamp, nanoseconds: Int64?, ended: Timestamp?, state: JobState) {
    self.start = start
    self.state = state
    // The date at which an interruption was detected does not show when the job ended.
    let known = state == .interrupted ? nil : ended
    let length =
      nanoseconds.map { $0 / 1_000 } ?? known.map { $0.microseconds - start.microseconds }
    end = Timestamp(microseconds: start.microseconds + max(0, length ?? 0))
  }
}

extension Job {
  /// The latest attempt, up to now if it is running; nil if its start is unknown.
  func attempt(at now: ClockReading) -> Attempt? {
    guard let started else { return nil }
    let wait = engineWait
    return Attempt(
      start: Timestamp(microseconds: started.microseconds + wait / 1_000),
      nanoseconds: state == .running ? sinceStart(now).map { $0 - wait } : duration, ended: ended,
      state: state)
  }
}

/// Attempts before the latest one of each job, which a queue does not keep.
///
/// Limited to those in the journal: compaction removes them.
struct EarlierAttempts {
  private(set) var byJob: [JobID: [Attempt]] = [:]
  private var latest: [JobID: (number: Int, attempt: Attempt)] = [:]

  /// Records a line, after which the job is this; call it in the order of the journal.
  mutating func take(_ job: Job, at now: ClockReading) {
    guard var attempt = job.attempt(at: now) else { return }
    // Interrupted until another line follows: the line of the end may be damaged.
    if job.state == .running {
      attempt = Attempt(start: attempt.start, nanoseconds: nil, ended: nil, state: .interrupted)
    }
    if let before = latest[job.id], before.number < job.attempts {
      byJob[job.id, default: []].append(before.attempt)
    }
    latest[job.id] = (job.attempts, attempt)
  }

  /// All known attempts at a job, the latest last.
  func all(of job: Job, at now: ClockReading) -> [Attempt] {
    var attempts = byJob[job.id] ?? []
    // While the job waits for a retry, its latest attempt is an earlier one.
    if job.state == .waiting, let last = latest[job.id]?.attempt { attempts.append(last) }
    if let attempt = job.attempt(at: now) { attempts.append(attempt) }
    return attempts
  }
}
