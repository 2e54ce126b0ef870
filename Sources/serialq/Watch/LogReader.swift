import SerialqSystem

/// Reads a job's log while it grows.
package struct LogReader {
  private let path: Bytes
  /// Opens the log that was at the path before it was removed, cut or replaced, if it is kept.
  private let kept: () throws(Failure) -> FileDescriptor?
  private var file: FileDescriptor?
  private var cursor = LogCursor()
  private let restorer: TerminalRestorer
  /// Whether the job had a terminal.
  private let hasTerminal: Bool
  /// What the output is converted to; nil if it is printed unchanged.
  private var text: TerminalText?

  /// `restorer` is informed of what is printed; `text` converts the output of a terminal.
  package init(
    _ path: Bytes, _ restorer: TerminalRestorer, hasTerminal: Bool = false,
    text: TerminalText? = nil,
    kept: @escaping () throws(Failure) -> FileDescriptor? = { () throws(Failure) in nil }
  ) {
    self.path = path
    self.kept = kept
    self.restorer = restorer
    self.hasTerminal = hasTerminal
    self.text = text
  }

  /// Prints new content; does nothing if the log does not exist yet.
  ///
  /// With `wholeLines`, holds back an incomplete line, because something else is printed below.
  /// Text is held back unless `isLast`, because the line can change. Calls `begin` before it prints
  /// something. Prints what is there at the call, and stops when the reader of the output closes
  /// it: a job that prints faster than this reads would keep the loop running. What comes later
  /// wakes the caller's watch. Stops also when `isStopped` returns true.
  mutating func print(
    to output: inout Output, wholeLines: Bool = false, isLast: Bool = false,
    isStopped: () -> Bool = { false }, begin: (inout Output) -> Void = { _ in }
  ) throws(Failure) {
    let size = try opened()?.status().size ?? 0
    if text == nil, !wholeLines { cursor.releaseLine() }
    // Another process may have truncated the log.
    if text != nil, size < cursor.scanned { cursor.skip(to: size) }
    while !output.readerIsGone, cursor.scanned < size, !isStopped() {
      let start = cursor.scanned
      let piece = try piece(from: start)
      if piece.isEmpty { break }
      if let lines = text?.convert(piece) {
        cursor.skip(to: start + Int64(piece.count))
        print(text: lines, &output, begin)
        continue
      }
      guard let end = cursor.scan(piece, wholeLines: wholeLines) else { continue }
      begin(&output)
      try restorer.printing { () throws(Failure) in
        try printPart(upTo: start, &output)
        print(Bytes(piece[..<Int(end - start)]), &output)
        output.emit()
      }
      cursor.advance(to: end)
    }
    if isLast, let rest = text?.finish() { print(text: rest, &output, begin) }
  }

  /// Prints the current content and ignores later growth: a job that prints its own log would never
  /// reach its end.
  ///
  /// With `lines`, prints only the last lines; content after the last line end counts as a line.
  /// Returns whether there is a log.
  @discardableResult
  package mutating func printOnce(
    to output: inout Output, lines: Int? = nil
  ) throws(Failure) -> Bool {
    guard let file = try opened() else { return false }
    let size = try file.status().size
    if let lines { try skip(toLast: lines, before: size) }
    guard text == nil else {
      try print(to: &output, isLast: true)
      return true
    }
    try restorer.printing { () throws(Failure) in
      try printPart(upTo: size, &output)
      output.emit()
    }
    return true
  }

  /// Leaves out the present content except the last lines; content after the last line end counts
  /// as a line.
  mutating func skip(toLast lines: Int) throws(Failure) {
    guard let file = try opened() else { return }
    try skip(toLast: lines, before: file.status().size)
  }

  private mutating func skip(toLast lines: Int, before end: Int64) throws(Failure) {
    let start = try start(ofLast: lines, before: end)
    cursor.skip(to: start)
    if start > 0, let text { self.text = TerminalText(keepsStyle: text.keepsStyle, isCut: true) }
  }

  /// Leaves out the present content.
  mutating func skipAll() throws(Failure) {
    guard let file = try opened() else { return }
    cursor.skip(to: try file.status().size)
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

  /// The current state of the incomplete last line, such as a progress bar.
  mutating func openLine() throws(Failure) -> String? {
    guard let line = cursor.openLine(atMost: LogReader.tailSize) else { return nil }
    let bytes = try piece(from: line.lowerBound, line.count)
    return Visible.lastLines(1, of: hasTerminal ? TerminalText.plain(bytes) : bytes).last
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

  private func print(text: Bytes, _ output: inout Output, _ begin: (inout Output) -> Void) {
    if text.isEmpty { return }
    begin(&output)
    restorer.printing {
      print(text, &output)
      output.emit()
    }
  }

  // MARK: Reading

  private static let pieceSize: Int64 = 1 << 16
  private static let tailSize: Int64 = 8192

  private mutating func piece(
    from offset: Int64, _ count: Int = Int(pieceSize)
  ) throws(Failure) -> Bytes {
    guard let file = try opened() else { return [] }
    return try file.bytes(from: offset, count)
  }

  /// Whether the log exists, or is kept.
  var isThere: Bool { mutating get throws(Failure) { try opened() != nil } }

  /// Opens the log once it exists, and keeps it open.
  private mutating func opened() throws(Failure) -> FileDescriptor? {
    if let file { return file }
    let found = try FileDescriptor.openIfThere(path, .read)
    // Searched afterwards: what was found at the path may be what replaced it.
    file = try kept() ?? found
    return file
  }

  /// The last lines of a log; reads only the end of the file.
  ///
  /// Of a job that had a terminal, reads more than `most` bytes, because few of them are text.
  package static func tail(
    of path: Bytes, lines: Int, bytes most: Int64 = tailSize, hasTerminal: Bool = false
  ) throws(Failure) -> [String] {
    guard let file = try FileDescriptor.openIfThere(path, .read) else { return [] }
    let size = try file.status().size
    let count = min(size, hasTerminal ? max(most, pieceSize) : most)
    let end = try file.bytes(from: size - count, Int(count))
    if !hasTerminal { return Visible.lastLines(lines, of: end) }
    let text = TerminalText.plain(end, isCut: count < size)
    return Visible.lastLines(lines, of: Bytes(text.suffix(Int(most))))
  }
}
