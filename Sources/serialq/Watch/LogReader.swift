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
  /// How many lines of text are left out before the first one.
  private var skipped = 0
  /// The size of the end of a log in which its last lines of text are counted first.
  private let recentSize: Int64

  /// `restorer` is informed of what is printed; `text` converts the output of a terminal.
  package init(
    _ path: Bytes, _ restorer: TerminalRestorer, hasTerminal: Bool = false,
    text: TerminalText? = nil, recentSize: Int64 = 1 << 16,
    kept: @escaping () throws(Failure) -> FileDescriptor? = { () throws(Failure) in nil }
  ) {
    self.path = path
    self.kept = kept
    self.restorer = restorer
    self.hasTerminal = hasTerminal
    self.text = text
    self.recentSize = recentSize
  }

  /// Prints new content; does nothing if the log does not exist yet.
  ///
  /// With `wholeLines`, holds back an incomplete line, because something else is printed below. Text
  /// is held back unless `isLast`, because the line can change. Calls `begin` before it prints
  /// something. Prints what is there at the call, and stops when the reader of the output closes it:
  /// a job that prints faster than this reads would keep the loop running. What comes later wakes the
  /// caller's watch. Stops also when `isStopped` returns true.
  mutating func print(
    to output: inout Output, wholeLines: Bool = false, isLast: Bool = false,
    isStopped: () -> Bool = { false }, begin: (inout Output) -> Void = { _ in }
  ) throws(Failure) {
    let size = try opened()?.status().size ?? 0
    if text != nil {
      return try printText(
        upTo: size, to: &output, isLast: isLast, isStopped: isStopped, begin: begin)
    }
    if !wholeLines { cursor.releaseLine() }
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
  /// Returns whether there is a log.
  @discardableResult
  package mutating func printOnce(
    to output: inout Output, lines: Int? = nil
  ) throws(Failure) -> Bool {
    guard let file = try opened() else { return false }
    let size = try file.status().size
    if let lines { try skip(toLast: lines, before: size) }
    guard text == nil else {
      try printText(upTo: size, to: &output, isLast: true)
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
    if let text { return try skip(toLast: lines, of: text, before: end) }
    cursor.skip(to: try start(ofLast: lines, before: end))
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

  /// The current state of the incomplete last line, such as a progress bar, escaped for a terminal.
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

  // MARK: Text

  /// Prints the lines of text up to `size`; if that is the end, the incomplete one too.
  private mutating func printText(
    upTo size: Int64, to output: inout Output, isLast: Bool,
    isStopped: () -> Bool = { false }, begin: (inout Output) -> Void = { _ in }
  ) throws(Failure) {
    // Another process may have truncated the log.
    if size < cursor.scanned { cursor.skip(to: size) }
    while !output.readerIsGone, cursor.scanned < size {
      if isStopped() { return }
      let piece = try piece(from: cursor.scanned, before: size)
      if piece.isEmpty { break }
      cursor.skip(to: cursor.scanned + Int64(piece.count))
      printLines(text?.convert(piece) ?? [], to: &output, begin: begin)
    }
    if isLast { printLines(text?.finish() ?? [], to: &output, begin: begin) }
  }

  private mutating func printLines(
    _ lines: Bytes, to output: inout Output, begin: (inout Output) -> Void
  ) {
    var rest = lines[...]
    while skipped > 0, let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      rest = rest[(end + 1)...]
      skipped -= 1
    }
    if skipped > 0 || rest.isEmpty { return }
    begin(&output)
    restorer.printing {
      print(Bytes(rest), &output)
      output.emit()
    }
  }

  /// Leaves out all lines of text before `end` but the last.
  ///
  /// Reads more and more of the end of a log until it has these lines, and a screen of others before
  /// them, so that what precedes it does not matter. Gives up if a large end has few lines: it is
  /// a progress bar, whose states take minutes to convert.
  private mutating func skip(
    toLast lines: Int, of text: TerminalText, before end: Int64
  ) throws(Failure) {
    var (start, count, size) = (end, 0, recentSize)
    repeat {
      start = max(0, end - size)
      size *= 16
      var counted = text.restarted(isCut: start > 0)
      count = try lineCount(of: &counted, from: start, before: end)
    } while start > 0 && count <= lines + TerminalText.screen
      && (count > TerminalText.screen || size <= recentSize << 8)
    cursor.skip(to: start)
    self.text = text.restarted(isCut: start > 0)
    skipped = max(0, count - lines)
  }

  private mutating func lineCount(
    of text: inout TerminalText, from start: Int64, before end: Int64
  ) throws(Failure) -> Int {
    var count = 0
    var offset = start
    while offset < end {
      let piece = try piece(from: offset, before: end)
      if piece.isEmpty { break }
      offset += Int64(piece.count)
      count += text.convert(piece).count { $0 == UInt8(ascii: "\n") }
    }
    let rest = text.finish()
    // Content after the last line end counts as a line.
    let isOpen = rest.last.map { $0 != UInt8(ascii: "\n") } ?? false
    return count + rest.count { $0 == UInt8(ascii: "\n") } + (isOpen ? 1 : 0)
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

  private mutating func piece(from offset: Int64, before end: Int64) throws(Failure) -> Bytes {
    try piece(from: offset, Int(min(LogReader.pieceSize, end - offset)))
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

  /// The last lines of a log, escaped for a terminal; reads only the end of the file.
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
