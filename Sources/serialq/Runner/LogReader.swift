import SerialqSystem

/// Reads a job's log while it grows.
package struct LogReader {
  private let path: Bytes
  private var file: FileDescriptor?
  private var cursor = LogCursor()
  private let restorer: TerminalRestorer

  /// `restorer` is informed of what is printed.
  package init(_ path: Bytes, _ restorer: TerminalRestorer) {
    self.path = path
    self.restorer = restorer
  }

  /// Prints new content; does nothing if the log does not exist yet.
  ///
  /// With `wholeLines`, holds back an incomplete line, because something else is printed below.
  /// Calls `begin` before it prints something. Prints what is there at the call, and stops when the
  /// reader of the output closes it: a job that prints faster than this reads would keep the loop
  /// running. What comes later wakes the caller's watch. Stops also when `isStopped` returns true.
  mutating func print(
    to output: inout Output, wholeLines: Bool = false, isStopped: () -> Bool = { false },
    begin: (inout Output) -> Void = { _ in }
  ) throws(Failure) {
    if !wholeLines { cursor.releaseLine() }
    let size = try opened()?.status().size ?? 0
    while !output.readerIsGone, cursor.scanned < size, !isStopped() {
      let start = cursor.scanned
      let piece = try piece(from: start)
      if piece.isEmpty { return }
      guard let end = cursor.scan(piece, wholeLines: wholeLines) else { continue }
      begin(&output)
      try restorer.printing { () throws(Failure) in
        try printPart(upTo: start, &output)
        print(Bytes(piece[..<Int(end - start)]), &output)
        output.emit()
      }
      cursor.advance(to: end)
    }
  }

  /// Prints the current content and ignores later growth: a job that prints its own log would never
  /// reach its end.
  ///
  /// With `lines`, prints only the last lines; content after the last line end counts as a line.
  package mutating func printOnce(to output: inout Output, lines: Int? = nil) throws(Failure) {
    guard let file = try opened() else { return }
    let size = try file.status().size
    if let lines { cursor.skip(to: try start(ofLast: lines, before: size)) }
    try restorer.printing { () throws(Failure) in
      try printPart(upTo: size, &output)
      output.emit()
    }
  }

  /// Leaves out the present content except the last lines; content after the last line end counts
  /// as a line.
  mutating func skip(toLast lines: Int) throws(Failure) {
    guard let file = try opened() else { return }
    cursor.skip(to: try start(ofLast: lines, before: file.status().size))
  }

  /// Where the last lines before `end` start; reads backwards, because a log can be large.
  private mutating func start(ofLast lines: Int, before end: Int64) throws(Failure) -> Int64 {
    // The line end of the last line separates it from no other.
    var (left, start) = (lines, end - 1)
    while start > 0 {
      let count = min(start, LogReader.pieceSize)
      let piece = try piece(from: start - count, Int(count))
      start -= count
      for index in piece.indices.reversed() where piece[index] == UInt8(ascii: "\n") {
        left -= 1
        if left == 0 { return start + Int64(index) + 1 }
      }
    }
    return 0
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
      print(piece, &output)
      // Not flushed when short, so that the line and its end go out in one write.
      cursor.advance(to: part.lowerBound + Int64(piece.count))
      if cursor.printed < end { output.emit() }
    }
  }

  private func print(_ bytes: Bytes, _ output: inout Output) {
    restorer.note(bytes)
    output.result(bytes)
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
