/// Decides when a thread has run handlers for long enough: by time, without reading a clock for each.
///
/// A handler may take anything from nanoseconds to seconds. The clock is read after each one until they
/// are known to be fast, and then after every few. The first handler is not counted, so that a turn of
/// one handler reads no clock.
struct TurnClock {
  /// For how long a turn goes on, in nanoseconds.
  static let limit: UInt64 = 4_000_000

  /// How many handlers may go by without a look: as many slow ones may follow fast ones.
  static let longestStride: UInt64 = 16

  private var start: UInt64 = 0
  private var handlers: UInt64 = 0
  private var nextCheck: UInt64 = 1

  /// A handler has returned.
  ///
  /// - Parameter now: Reads a clock that counts nanoseconds.
  /// - Returns: Whether the turn is over.
  @inline(__always)
  mutating func handlerReturned(now: () -> UInt64) -> Bool {
    handlers += 1
    return handlers > nextCheck ? isOver(at: now()) : false
  }

  /// The next handler is about to be called.
  @inline(__always)
  mutating func handlerBegins(now: () -> UInt64) {
    if handlers == 1 { start = now() }
  }

  @inline(never)
  private mutating func isOver(at now: UInt64) -> Bool {
    let elapsed = now > start ? now - start : 0
    guard elapsed < Self.limit else { return true }
    // The first was not timed.
    let each = max(elapsed / (handlers - 1), 1)
    nextCheck = handlers + min(max(Self.limit / 8 / each, 1), Self.longestStride) - 1
    return false
  }
}
