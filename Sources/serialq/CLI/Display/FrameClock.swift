/// When the next frame of a live display is due: soon after something happened, no oftener than
/// eyes can follow, and when a time that is shown is written differently.
///
/// Pure: it is told what time it is, in nanoseconds of the monotonic clock.
struct FrameClock {
  /// Twenty frames a second at the most, however fast jobs end or print.
  static let interval: Int64 = 50_000_000

  private var last: Int64
  private var isPending = false

  /// The first frame comes an interval after the start: what is over by then is not worth a flash.
  init(startedAt now: Int64) { last = now }

  /// Something may have changed; says whether it is time to draw it, and then it counts as drawn.
  mutating func changed(at now: Int64) -> Bool {
    isPending = now - last < Self.interval
    if !isPending { last = now }
    return !isPending
  }

  /// How long to sleep at most, in milliseconds; nil until something happens.
  ///
  /// `next` is when the times that are shown are written differently, if there are any.
  func timeout(at now: Int64, next: Int64?) -> Int32? {
    let frame = isPending ? last + Self.interval : nil
    guard let soonest = [frame, next].compactMap({ $0 }).min() else { return nil }
    // Rounded up: woken a moment before the second, it would show the old one once more.
    return Int32(clamping: (max(1, soonest - now) - 1) / 1_000_000 + (soonest > now ? 1 : 0))
  }
}
