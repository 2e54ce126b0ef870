/// Limits the time of a thread's turn without reading a clock for every handler.
///
/// A handler may take nanoseconds or seconds. The clock is read after each handler until they prove
/// fast, and then at intervals. The first handler is not timed, so that a turn of one handler reads
/// no clock.
struct TurnClock {
  /// The time limit of a turn in nanoseconds.
  static let limit: UInt64 = 4_000_000

  /// The maximum number of handlers between two clock readings; slow handlers may follow fast ones.
  static let longestStride: UInt64 = 16

  private var start: UInt64 = 0
  private var handlers: UInt64 = 0
  private var nextCheck: UInt64 = 1

  /// Whether the turn has ended.
  private(set) var isOver = false

  /// Counts a handler that has returned.
  ///
  /// - Parameter now: Returns the time in nanoseconds.
  /// - Returns: Whether the turn has ended.
  @inline(__always)
  mutating func handlerReturned(now: () -> UInt64) -> Bool {
    handlers += 1
    if handlers > nextCheck { check(now()) }
    return isOver
  }

  /// Prepares for the next handler.
  @inline(__always)
  mutating func handlerBegins(now: () -> UInt64) {
    if handlers == 1 { start = now() }
  }

  @inline(never)
  private mutating func check(_ now: UInt64) {
    let elapsed = now > start ? now - start : 0
    isOver = elapsed >= Self.limit
    // The first handler was not timed.
    let each = max(elapsed / (handlers - 1), 1)
    nextCheck = handlers + min(max(Self.limit / 8 / each, 1), Self.longestStride) - 1
  }
}
