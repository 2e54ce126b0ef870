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
    guard state != .waiting, let run, let started = run.started else { return nil }
    return Attempt(
      start: started, nanoseconds: state == .running ? sinceStart(now) : run.duration,
      ended: run.ended, state: state)
  }
}

/// Attempts before the latest one of each job, which a queue does not keep.
///
/// Limited to those in the journal: compaction removes them.
struct EarlierAttempts {
  private(set) var byJob: [JobID: [Attempt]] = [:]
  private var latest: [JobID: Attempt] = [:]

  /// More could not be distinguished in the drawing.
  private static let most = 20

  /// Records an event; call it in the order of the journal.
  mutating func take(_ event: Event) {
    switch event {
    case .started(let id, _, let at, _, _, _):
      if let before = latest[id] {
        byJob[id] = (byJob[id] ?? []).suffix(Self.most - 1) + [before]
      }
      // Interrupted until another event follows: the line of the end may be damaged.
      latest[id] = Attempt(start: at, nanoseconds: nil, ended: nil, state: .interrupted)
    case .ended(let id, let at, let duration, let how, let cause):
      end(id, at, nanoseconds: duration, how.state(because: cause))
    case .interrupted(let id, let at, _): end(id, at, nanoseconds: nil, .interrupted)
    default: break
    }
  }

  private mutating func end(
    _ id: JobID, _ at: Timestamp, nanoseconds: Int64?, _ state: JobState
  ) {
    guard let start = latest[id]?.start else { return }
    latest[id] = Attempt(start: start, nanoseconds: nanoseconds, ended: at, state: state)
  }

  /// All known attempts at a job, the latest last.
  func all(of job: Job, at now: ClockReading) -> [Attempt] {
    var attempts = byJob[job.id] ?? []
    // While the job waits for a retry, its latest attempt is an earlier one.
    if job.state == .waiting, let last = latest[job.id] { attempts.append(last) }
    if let attempt = job.attempt(at: now) { attempts.append(attempt) }
    return attempts
  }
}
