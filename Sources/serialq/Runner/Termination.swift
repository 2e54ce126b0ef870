import SerialqQueue
import SerialqSystem

/// When a job is sent which signal: SIGTERM, grace, SIGKILL.
///
/// Pure; times are nanoseconds of the monotonic clock.
/// - *running* → ending (it was asked to, or its time is over), killed (it was asked twice);
/// - *ending* → ending (asked again), killed (the grace is over);
/// - *killed* → given up (what of it did not die has left its process group, or cannot die).
struct Termination {
  /// How long a job may go on after the first signal before SIGKILL.
  static let grace: Int64 = 10_000_000_000
  /// How long the rest of its process group is waited for after SIGKILL.
  static let patience: Int64 = 5_000_000_000

  /// How often the runner was told to stop: once in order, twice at once.
  enum Stop: Int, Comparable {
    case no, inOrder, atOnce

    static func < (left: Stop, right: Stop) -> Bool { left.rawValue < right.rawValue }
  }

  /// Why it ends, as far as it is known.
  private(set) var cause = EndCause.itself
  /// Whether it ends because the runner does.
  private(set) var isStopped = false
  /// The last signal that was sent for the first time.
  private(set) var signal: Int32?
  private var timeLimit: Int64?
  private var killAt: Int64?
  private var giveUpAt: Int64?
  private var seenRequests = 0
  private var seenStop = Stop.no

  /// Its time is over at `timeLimit`; a stop that had come before it began is not meant for it.
  init(timeLimit: Int64? = nil, after stop: Stop = .no) {
    self.timeLimit = timeLimit
    seenStop = stop
  }

  /// The signals to send now; `requests` are all that came in, the seen ones too.
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

  /// When there is something to do again though nothing happens; a time to give up is one only for
  /// who can: it stays in the past, and who slept until then would never sleep again.
  func nextDue(canGiveUp: Bool) -> Int64? {
    [cause == .itself ? timeLimit : nil, killAt, canGiveUp ? giveUpAt : nil]
      .compactMap { $0 }.min()
  }

  /// Whether nothing more can be done.
  func isGivenUp(now: Int64) -> Bool { giveUpAt.map { $0 <= now } ?? false }

  private mutating func begin(_ cause: EndCause, _ signal: Int32, _ now: Int64) {
    if self.cause == .itself { self.cause = cause }
    self.signal = signal
    guard signal != SIGKILL else {
      killAt = nil
      giveUpAt = giveUpAt ?? now + Termination.patience
      return
    }
    // A second request does not put the end off.
    if giveUpAt == nil { killAt = min(killAt ?? .max, now + Termination.grace) }
  }
}
