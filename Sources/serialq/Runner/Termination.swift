import SerialqQueue
import SerialqSystem

/// Decides when to send which signal to a job: SIGTERM, grace period, SIGKILL; SIGSTOP, SIGCONT.
///
/// Pure; times are nanoseconds of the monotonic clock.
///
/// - *running* → suspended (requested), ending (requested, or timed out), killed (requested twice);
/// - *suspended* → running (requested), ending (requested), killed (requested twice);
/// - *ending* → ending (requested again), killed (the grace period is over);
/// - *killed* → given up (no remaining process is visible).
struct Termination {
  /// The time between the first signal and SIGKILL.
  static let grace: Int64 = 10_000_000_000
  /// The same for a launcher, which gives its job as much, and must learn that the job has ended.
  static let launcherGrace: Int64 = 30_000_000_000
  /// How long to wait after SIGKILL for processes that are not visible.
  static let patience: Int64 = 5_000_000_000

  /// The level of a stop: the first request terminates, the second kills.
  enum Stop: Comparable {
    case no, inOrder, atOnce
  }

  /// Why the job ends, as far as known.
  private(set) var cause = EndCause.itself
  /// Whether the job was suspended at the last look.
  var isSuspended: Bool { suspension.since != nil }
  /// Whether the job ends because its runner was stopped.
  private(set) var isStopped = false
  /// The last signal that was sent for the first time.
  private(set) var signal: Int32?
  /// The deadline if the job is not suspended.
  private var timeLimit: Int64?
  private var suspension = JobStatus.Running.unknown.suspension
  private var killAt: Int64?
  private var giveUpAt: Int64?
  private var seenRequests = 0
  private var seenStop = Stop.no
  /// Whether the process is a launcher, which must end its job: it is not killed at first.
  private let isLauncher: Bool

  /// Creates the state for a job with a deadline; ignores a stop that came before the job started.
  init(timeLimit: Int64? = nil, after stop: Stop = .no, isLauncher: Bool = false) {
    self.timeLimit = timeLimit
    self.isLauncher = isLauncher
    seenStop = stop
  }

  /// The signals to send now; `job` says what was requested so far.
  mutating func signals(_ job: JobStatus.Running, stop: Stop, now: Int64) -> [Int32] {
    var signals: [Int32] = []
    for request in job.requests.dropFirst(seenRequests) {
      let signal = first(request)
      signals.append(signal)
      begin(.cancelled, signal, now)
    }
    seenRequests = max(seenRequests, job.requests.count)
    if stop > seenStop {
      if cause == .itself { isStopped = true }
      let signal = first(stop == .atOnce ? SIGKILL : SIGTERM)
      signals.append(signal)
      begin(.cancelled, signal, now)
      seenStop = stop
    }
    // A job that ends is not suspended, so that it can use the grace period; it receives SIGCONT
    // with the first signal.
    if cause == .itself { signals += suspend(job.suspension) }
    if let limit, limit <= now, cause == .itself {
      signals.append(SIGTERM)
      begin(.timedOut, SIGTERM, now)
    }
    if let killAt, killAt <= now, !signals.contains(SIGKILL) {
      signals.append(SIGKILL)
      begin(cause, SIGKILL, now)
    }
    return signals
  }

  /// How long the deadline has passed of a job that nothing has ended; nil if it is less than a
  /// second, for which a machine can be busy.
  func delay(now: Int64) -> Int64? {
    guard cause == .itself, let limit, now - limit > 1_000_000_000 else { return nil }
    return now - limit
  }

  /// The next deadline; includes the time to give up only with `canGiveUp`.
  ///
  /// Otherwise that deadline would stay in the past, and a caller that cannot give up would spin.
  func nextDue(canGiveUp: Bool) -> Int64? {
    [cause == .itself ? limit : nil, killAt, canGiveUp ? giveUpAt : nil]
      .compactMap { $0 }.min()
  }

  /// Whether processes that are not visible have had enough time to end.
  func isGivenUp(now: Int64) -> Bool { giveUpAt.map { $0 <= now } ?? false }

  /// The deadline of the job; nil while it is suspended.
  private var limit: Int64? {
    guard let timeLimit, suspension.since == nil else { return nil }
    let (limit, isTooLarge) = timeLimit.addingReportingOverflow(suspension.earlier)
    return isTooLarge ? nil : limit
  }

  private mutating func suspend(_ new: Suspension) -> [Int32] {
    defer { suspension = new }
    // Also if the job was suspended and continued since the last look, or by another runner.
    guard new.since == suspension.since && new.earlier == suspension.earlier else {
      return [new.since == nil ? SIGCONT : SIGSTOP]
    }
    return []
  }

  private mutating func begin(_ cause: EndCause, _ signal: Int32, _ now: Int64) {
    if self.cause == .itself { self.cause = cause }
    self.signal = signal
    guard signal != SIGKILL else {
      killAt = nil
      giveUpAt = giveUpAt ?? now + Termination.patience
      return
    }
    // A second request does not extend the grace period.
    if giveUpAt == nil {
      killAt = min(killAt ?? .max, now + (isLauncher ? Self.launcherGrace : Self.grace))
    }
  }

  /// The signal to send first if this one was requested.
  private func first(_ signal: Int32) -> Int32 {
    isLauncher && signal == SIGKILL ? SIGTERM : signal
  }
}
