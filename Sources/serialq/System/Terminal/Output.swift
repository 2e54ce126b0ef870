/// The only code that prints: results to standard output, messages to standard error.
///
/// Buffers results until `flush`, so that a command that fails midway prints nothing.
package struct Output {
  private let results: Int32
  private let messages: Int32
  private var pending = Bytes()
  /// The lines redrawn below the results on a terminal.
  private var region = LiveRegion()
  /// Whether the last result ended without a newline.
  private var isInLine = false

  /// Whether results are discarded, because the reader has closed the pipe (`serialq list | head
  /// -1`) or a write failed.
  ///
  /// A command that prints continuously should stop. A closed pipe is not a failure: the reader has
  /// all that it needs.
  package private(set) var readerIsGone = false
  /// Why a write of results failed.
  private var failure: Failure?

  package init(results: Int32 = STDOUT_FILENO, messages: Int32 = STDERR_FILENO) {
    self.results = results
    self.messages = messages
  }

  /// Ignores SIGPIPE and SIGXFSZ by `signal(2)`.
  ///
  /// So a write to a closed pipe fails with EPIPE, and one beyond the limit on the size of files
  /// with EFBIG, both of which can be reported. Call it once at the start. Spawned children get the
  /// default action back.
  package static func ignoreSignalsOfWrites() {
    signal(SIGPIPE, SIG_IGN)
    signal(SIGXFSZ, SIG_IGN)
  }

  package mutating func result(_ text: String) {
    pending += text.utf8
  }

  /// Appends bytes unchanged: the output of a job.
  package mutating func result(_ bytes: Bytes) {
    pending += bytes
  }

  /// Writes pending results; fails if this or an earlier ``emit()`` could not write everything.
  package mutating func flush() throws(Failure) {
    emit()
    if let failure { throw failure }
  }

  /// Writes pending results and leaves a failure to the next ``flush()``.
  ///
  /// For output while jobs run: failing at once would leave a job running without supervision.
  package mutating func emit() {
    guard !pending.isEmpty else { return }
    var bytes = pending
    pending.removeAll(keepingCapacity: true)
    guard !readerIsGone else { return }
    isInLine = bytes.last != UInt8(ascii: "\n")
    if !region.lines.isEmpty {
      let columns = TerminalWindow(of: results).columns
      // The region cannot start in the middle of a line.
      bytes =
        isInLine
        ? Bytes(region.erase(columns: columns).utf8) + bytes
        : region.above(bytes, columns: columns)
    }
    let error = FileDescriptor.writeAll(bytes, to: results)
    readerIsGone = error != 0
    if error == 0 || error == EPIPE || error == EIO && Self.isTerminal(results) { return }
    failure = Failure(
      "cannot write to standard output", String(cString: strerror(error)),
      next: "The output is incomplete.")
  }

  /// Whether the descriptor is a terminal, or was one: `isatty(3)` fails with an error other than
  /// ENOTTY after a hangup.
  private static func isTerminal(_ descriptor: Int32) -> Bool {
    isatty(descriptor) == 1 || errno != ENOTTY
  }

  /// Prints a line to standard error.
  ///
  /// Ignores failed writes: there is no other channel to report them.
  package func message(_ text: String) {
    let line = Bytes("\(text)\n".utf8)
    guard !region.lines.isEmpty else {
      _ = FileDescriptor.writeAll(line, to: messages)
      return
    }
    var shown = region
    let columns = TerminalWindow(of: results).columns
    _ = FileDescriptor.writeAll(Bytes(shown.erase(columns: columns).utf8), to: results)
    _ = FileDescriptor.writeAll(line, to: messages)
    _ = FileDescriptor.writeAll(
      Bytes(shown.paint(region.lines, columns: columns, color: region.color).utf8), to: results)
  }

  /// Replaces the live lines below the output, in one write; writes nothing if they are unchanged.
  ///
  /// For terminals only. Each line must be shorter than `columns`. Ignores failed writes: only
  /// results matter.
  package mutating func show(_ lines: [StyledLine], columns: Int, color: Bool) {
    var text = ""
    if isInLine, !lines.isEmpty {
      text = "\r\n"
      isInLine = false
    }
    text += region.paint(lines, columns: columns, color: color)
    _ = FileDescriptor.writeAll(Bytes(text.utf8), to: results)
  }

  /// Erases the lines of ``show(_:columns:color:)``.
  package mutating func hide() {
    guard !region.lines.isEmpty else { return }
    let text = region.erase(columns: TerminalWindow(of: results).columns)
    _ = FileDescriptor.writeAll(Bytes(text.utf8), to: results)
  }

  /// Writes what restores the terminal after the results so far; it is not a part of a line.
  package mutating func restore(_ undo: Bytes) {
    guard !undo.isEmpty else { return }
    emit()
    hide()
    _ = FileDescriptor.writeAll(undo, to: results)
  }

  /// Appends a newline if the results lack one, so that later output starts a line.
  package mutating func endLine() {
    if pending.last.map({ $0 != UInt8(ascii: "\n") }) ?? isInLine { result("\n") }
  }
}
