import SerialqSystem

/// Decides which part of a growing log is printed next; reads nothing.
struct LogCursor: Equatable {
  /// The end of the printed part.
  private(set) var printed: Int64 = 0
  /// The end of the scanned part; between the two is one incomplete line, which is held back.
  private(set) var scanned: Int64 = 0

  /// Scans the incomplete line again, in order to print it too.
  mutating func releaseLine() { scanned = printed }

  /// Scans the next bytes of the log; returns the end of what can be printed now, or nil.
  ///
  /// With `wholeLines`, that is the end of the last complete line.
  mutating func scan(_ piece: Bytes, wholeLines: Bool) -> Int64? {
    let count =
      wholeLines ? piece.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } : piece.count
    defer { scanned += Int64(piece.count) }
    return count.map { scanned + Int64($0) }
  }

  /// The next part to print before `end`, of at most `size` bytes; nil at `end`.
  func part(before end: Int64, atMost size: Int64) -> Range<Int64>? {
    printed < end ? printed..<min(end, printed + size) : nil
  }

  /// Leaves out everything before `start`.
  mutating func skip(to start: Int64) {
    printed = start
    scanned = start
  }

  /// Moves past a part that was printed, or that another process truncated.
  mutating func advance(to end: Int64) { printed = end }

  /// The last bytes of the incomplete line, at most `size`; nil if there is none.
  func openLine(atMost size: Int64) -> Range<Int64>? {
    printed < scanned ? max(printed, scanned - size)..<scanned : nil
  }
}
