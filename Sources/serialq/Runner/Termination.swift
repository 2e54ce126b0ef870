import SerialqQueue
import SerialqSystem

/// Decides when to send which signal to a job: SIGTERM, grace period, SIGKILL.
///
/// Pure; times are nanoseconds of the monotonic clock.
///
/// - *running* → ending (requested, or timed out), killed (requested twice);
/// - *ending* → ending (requested again), killed (the grace period is over);
/// - *killed* → given up (remaining processes left the group, or cannot be killed).
struct Termination {
  /// The time between the first signal and SIGKILL.
  static let grace: Int64 = 10_000_000_000
  /// How long to wait after SIGKILL for the rest of the process group.
  static let patience: Int64 = 5_000_000_000

  /// The level of a stop: the first request terminates, the second kills.
  enum Stop: Int, Comparable {
    case no, inOrder, atOnce

    static func < (left: Stop, right: Stop) -> Bool { left.rawValue < right.rawValue }
  }

  /// Why the job ends, as far as known.
  private(set) var cause = EndCause.itself
  /// Whether the job ends because its runner was stopped.
  private(set) var isStopped = false
  /// The last signal that was sent for the first time.
  private(set) var signal: Int32?
  private var timeLimit: Int64?
  private var killAt: Int64?
  private var giveUpAt: Int64?
  private var seenRequests = 0
  private var seenStop = Stop.no

  /// Creates the state for a job with a deadline; ignores a stop that came before the job started.
  init(timeLimit: Int64? = nil, after stop: Stop = .no) {
    self.timeLimit = timeLimit
    seenStop = stop
  }

  /// The signals to send now; `requests` are all requests so far, including those already handled.
  mutating func signals(requests: [Int32], stop: Stop, now: Int64) -> [Int32] {
    var signals: [Int32] = []
    for request in requests.dropFirst(seenRequests) {
      signals.append(request)
      begin(.cancelled, request, now)
    }
    seenRequests = max(seenRequests, requests.count)
    if stop > seenStop {
      if cause == .itself { isStopped = true }
      signals.append(stop == .atOnce ? SIGKILL : SIGTERM)
      begin(.cancelled, stop == .atOnce ? SIGKILL : SIGTERM, now)
      seenStop = stop
    }
    if let timeLimit, timeLimit <= now, cause == .itself {
      signals.append(SIGTERM)
      begin(.timedOut, SIGTERM, now)
    }
    if let killAt, killAt <= now, !signals.contains(SIGKILL) {
      signals.append(SIGKILL)
      begin(cause, SIGKILL, now)
    }
    return signals
  }

  /// The next deadline; includes the time to give up only with `canGiveUp`.
  ///
  /// Otherwise that deadline would stay in the past, and a caller that cannot give up would spin.
  func nextDue(canGiveUp: Bool) -> Int64? {
    [cause == .itself ? timeLimit : nil, killAt, canGiveUp ? giveUpAt : nil]
      .compactMap { $0 }.min()
  }

  /// Whether all signals have failed.
  func isGivenUp(now: Int64) -> Bool { giveUpAt.map { $0 <= now } ?? false }

  private mutating func begin(_ cause: EndCause, _ signal: Int32, _ now: Int64) {
    if self.cause == .itself { self.cause = cause }
    self.signal = signal
    guard signal != SIGKILL else {
      killAt = nil
      giveUpAt = giveUpAt ?? now + Termination.patience
      return
    }
    // A second request does not extend the grace period.
    if giveUpAt == nil { killAt = min(killAt ?? .max, now + Termination.grace) }
  }
}
