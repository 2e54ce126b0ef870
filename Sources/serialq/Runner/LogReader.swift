import SerialqSystem

/// Reads a job's log while it grows.
package struct LogReader {
  private let path: Bytes
  private var file: FileDescriptor?
  private var cursor = LogCursor()

  package init(_ path: Bytes) {
    self.path = path
  }

  /// Prints new content; does nothing if the log does not exist yet.
  ///
  /// With `wholeLines`, holds back an incomplete line, because a display is drawn below. Stops when
  /// the reader of the output closes it: a job that prints faster than this reads would keep the
  /// loop running.
  mutating func print(to output: inout Output, wholeLines: Bool = false) throws(Failure) {
    if !wholeLines { cursor.releaseLine() }
    while !output.readerIsGone {
      let start = cursor.scanned
      let piece = try piece(from: start)
      if piece.isEmpty { return }
      guard let end = cursor.scan(piece, wholeLines: wholeLines) else { continue }
      try printPart(upTo: start, &output)
      output.result(Bytes(piece[..<Int(end - start)]))
      output.emit()
      cursor.advance(to: end)
    }
  }

  /// Prints the current content and ignores later growth: a job that prints its own log would never
  /// reach its end.
  package mutating func printOnce(to output: inout Output) throws(Failure) {
    guard let file = try opened() else { return }
    try printPart(upTo: file.status().size, &output)
  }

  /// The current state of the incomplete last line, such as a progress bar, escaped for a terminal.
  mutating func openLine() throws(Failure) -> String? {
    guard let line = cursor.openLine(atMost: LogReader.tailSize) else { return nil }
    return Visible.lastLines(1, of: try piece(from: line.lowerBound, line.count)).last
  }

  /// Prints up to `end`; reads the part again, because a line has no length limit.
  private mutating func printPart(upTo end: Int64, _ output: inout Output) throws(Failure) {
    while !output.readerIsGone, let part = cursor.part(before: end, atMost: LogReader.pieceSize) {
      let piece = try piece(from: part.lowerBound, part.count)
      // Truncated by another process.
      if piece.isEmpty { return cursor.advance(to: end) }
      output.result(piece)
      // Not flushed when short, so that the line and its end go out in one write.
      cursor.advance(to: part.lowerBound + Int64(piece.count))
      if cursor.printed < end { output.emit() }
    }
  }

  private static let pieceSize: Int64 = 1 << 16
  private static let tailSize: Int64 = 8192

  private mutating func piece(
    from offset: Int64, _ count: Int = Int(pieceSize)
  ) throws(Failure) -> Bytes {
    guard let file = try opened() else { return [] }
    return try file.bytes(from: offset, count)
  }

  /// Opens the log once it exists, and keeps it open.
  private mutating func opened() throws(Failure) -> FileDescriptor? {
    if let file { return file }
    file = try FileDescriptor.openIfThere(path, .read)
    return file
  }

  /// The last lines of a log, escaped for a terminal; reads only the end of the file.
  package static func tail(
    of path: Bytes, lines: Int, bytes most: Int64 = tailSize
  ) throws(Failure) -> [String] {
    guard let file = try FileDescriptor.openIfThere(path, .read) else { return [] }
    let size = try file.status().size
    let count = min(size, most)
    return Visible.lastLines(lines, of: try file.bytes(from: size - count, Int(count)))
  }
}
