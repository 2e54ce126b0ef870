/// Decides when the next frame of a live display is due.
///
/// That is soon after a change, limited to the frame rate, and whenever a displayed time changes.
/// Pure: the caller passes the time, in nanoseconds of the monotonic clock.
struct FrameClock {
  /// At most 20 frames a second, however fast jobs end or print.
  static let interval: Int64 = 50_000_000

  private var last: Int64
  private var isPending = false

  /// Delays the first frame by an interval, so that a job that ends at once does not flicker.
  init(startedAt now: Int64) { last = now }

  /// Records a change; returns whether to draw now.
  mutating func changed(at now: Int64) -> Bool {
    isPending = now - last < Self.interval
    if !isPending { last = now }
    return !isPending
  }

  /// When the next frame is due; nil to wait for a change.
  ///
  /// `next` is when a displayed time changes, if any.
  func deadline(next: Int64?) -> Int64? {
    [isPending ? last + Self.interval : nil, next].compactMap(\.self).min()
  }
}
