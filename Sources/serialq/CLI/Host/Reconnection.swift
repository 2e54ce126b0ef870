import SerialqSystem

/// Decides when a caller that has lost its connection connects again.
struct Reconnection: Equatable {
  /// By the monotonic clock.
  private var lost: Int64?
  private var failures = 0

  /// How long a machine keeps a call whose caller is gone, and a caller tries to return, in
  /// nanoseconds.
  static let patience: Int64 = 600 * 1_000_000_000

  /// In seconds; the last one repeats.
  private static let pauses: [Int64] = [0, 1, 2, 4, 8, 15]

  /// How often a machine is called that has not answered yet: its name may be wrong.
  private static let mostUnanswered = 8

  /// Whether no connection has been lost since the last one that was answered.
  var isFirst: Bool { failures == 0 }

  /// Notes a lost or failed connection; returns when to connect again, or nil to give up.
  mutating func next(after now: Int64, wasAnswered: Bool) -> Int64? {
    let since = lost ?? now
    lost = since
    if !wasAnswered, failures + 1 >= Self.mostUnanswered { return nil }
    let pause = Self.pauses[min(failures, Self.pauses.count - 1)] * 1_000_000_000
    failures += 1
    return now + pause - since > Self.patience ? nil : now + pause
  }

  /// Notes that the call continues.
  mutating func succeed() { self = Reconnection() }
}
