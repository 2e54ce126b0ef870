import SerialqQueue
import SerialqSystem

/// A stretch of time for which a job ran, and what became of it.
struct Attempt: Equatable, Sendable {
  var start: Timestamp
  /// That of its start if nobody saw how long it ran.
  var end: Timestamp
  var state: JobState

  /// How long it ran; nil if nobody saw.
  var duration: Duration? {
    state == .interrupted ? nil : .microseconds(end.microseconds - start.microseconds)
  }

  /// By the duration that was measured if there is one: the dates are of a clock that may have been
  /// set meanwhile, and no attempt ends before it starts.
  init(start: Timestamp, nanoseconds: Int64?, ended: Timestamp?, state: JobState) {
    self.start = start
    self.state = state
    // The date at which somebody found it interrupted says nothing about how long it ran.
    let known = state == .interrupted ? nil : ended
    let length =
      nanoseconds.map { $0 / 1_000 } ?? known.map { $0.microseconds - start.microseconds }
    end = Timestamp(microseconds: start.microseconds + max(0, length ?? 0))
  }
}

extension Job {
  /// Its latest attempt, until now if it runs; nil if it has none, or none whose start is known.
  func attempt(at now: ClockReading) -> Attempt? {
    guard state != .waiting, let run, let started = run.started else { return nil }
    return Attempt(
      start: started, nanoseconds: state == .running ? sinceStart(now) : run.duration,
      ended: run.ended, state: state)
  }
}

/// The attempts at jobs before their latest one, which is all that a queue keeps.
///
/// Those that the journal still holds: compaction leaves them out.
struct EarlierAttempts {
  private(set) var byJob: [JobID: [Attempt]] = [:]
  private var latest: [JobID: Attempt] = [:]

  /// More are not to be told apart where they are drawn.
  private static let most = 20

  /// Takes note of an event, in the order of the journal.
  mutating func take(_ event: Event) {
    switch event {
    case .started(let id, _, let at, _, _):
      if let before = latest[id] {
        byJob[id] = (byJob[id] ?? []).suffix(Self.most - 1) + [before]
      }
      // As long as nothing else is said: a line that told of its end may be damaged.
      latest[id] = Attempt(start: at, nanoseconds: nil, ended: nil, state: .interrupted)
    case .ended(let id, let at, let duration, let how, let cause):
      end(id, at, nanoseconds: duration, how.state(because: cause))
    case .interrupted(let id, let at): end(id, at, nanoseconds: nil, .interrupted)
    default: break
    }
  }

  private mutating func end(
    _ id: JobID, _ at: Timestamp, nanoseconds: Int64?, _ state: JobState
  ) {
    guard let start = latest[id]?.start else { return }
    latest[id] = Attempt(start: start, nanoseconds: nanoseconds, ended: at, state: state)
  }

  /// All attempts at a job that are known, the latest last.
  func all(of job: Job, at now: ClockReading) -> [Attempt] {
    var attempts = byJob[job.id] ?? []
    // While it waits for the next one, the latest is one of those before.
    if job.state == .waiting, let last = latest[job.id] { attempts.append(last) }
    if let attempt = job.attempt(at: now) { attempts.append(attempt) }
    return attempts
  }
}
