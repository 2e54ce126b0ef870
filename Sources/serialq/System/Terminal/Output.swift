/// The one place that prints: results to standard output, messages to standard error.
///
/// Results are collected and go out with `flush`, so that a command which fails half way has
/// printed nothing.
package struct Output {
  private let results: Int32
  private let messages: Int32
  private var pending = Bytes()
  /// What is drawn below the results on a terminal.
  private var region = LiveRegion()
  /// Whether the results so far end in the middle of a line.
  private var isInLine = false

  /// Whether results go nowhere any more: nobody reads them (`serialq list | head -1`), or they
  /// could not be written.
  ///
  /// A command that goes on printing should end. That nobody reads is no failure: whoever reads has
  /// seen enough.
  package private(set) var readerIsGone = false
  /// Why results could not be written.
  private var failure: Failure?

  package init(results: Int32 = STDOUT_FILENO, messages: Int32 = STDERR_FILENO) {
    self.results = results
    self.messages = messages
  }

  /// Has a write to a closed pipe fail (EPIPE) instead of killing the process: `signal(2)`.
  ///
  /// To be called once, at the start; a spawned child gets the default back.
  package static func ignoreBrokenPipes() {
    signal(SIGPIPE, SIG_IGN)
  }

  package mutating func result(_ text: String) {
    pending += text.utf8
  }

  /// Adds bytes as they are: a job's own output.
  package mutating func result(_ bytes: Bytes) {
    pending += bytes
  }

  /// Writes what is pending; fails if it, or what ``emit()`` wrote before, could not all be written
  /// (a full disk).
  package mutating func flush() throws(Failure) {
    emit()
    if let failure { throw failure }
  }

  /// Writes what is pending, and leaves it to the next ``flush()`` to fail.
  ///
  /// For what is printed while jobs run: who failed at once would leave a job with nobody to see its
  /// end.
  package mutating func emit() {
    guard !pending.isEmpty else { return }
    var bytes = pending
    pending.removeAll(keepingCapacity: true)
    guard !readerIsGone else { return }
    isInLine = bytes.last != UInt8(ascii: "\n")
    if !region.lines.isEmpty {
      let columns = TerminalWindow(of: results).columns
      // A row that is begun is no place to draw below.
      bytes =
        isInLine
        ? Bytes(region.erase(columns: columns).utf8) + bytes
        : region.above(bytes, columns: columns)
    }
    let error = Self.writeAll(bytes, to: results)
    readerIsGone = error != 0
    if error == 0 || error == EPIPE || error == EIO && Self.isTerminal(results) { return }
    failure = Failure(
      "cannot write to standard output", String(cString: strerror(error)),
      next: "What was printed is not complete. What was changed is: look before you repeat it."
    )
  }

  /// Whether it is a terminal, or was: `isatty(3)` says ENOTTY of no terminal that was closed.
  private static func isTerminal(_ descriptor: Int32) -> Bool {
    isatty(descriptor) == 1 || errno != ENOTTY
  }

  /// Prints a line to standard error; `text` has to be visible text already.
  ///
  /// Where messages cannot be written there is nobody left to tell.
  package func message(_ text: String) {
    let line = Bytes("\(text)\n".utf8)
    guard !region.lines.isEmpty else {
      _ = Self.writeAll(line, to: messages)
      return
    }
    var shown = region
    let columns = TerminalWindow(of: results).columns
    _ = Self.writeAll(Bytes(shown.erase(columns: columns).utf8), to: results)
    _ = Self.writeAll(line, to: messages)
    _ = Self.writeAll(
      Bytes(shown.paint(region.lines, columns: columns, colour: region.colour).utf8), to: results)
  }

  /// Shows these lines, each shorter than the terminal's `columns`, below everything that was printed,
  /// in the place of those shown before; in one write, and none if they are the same.
  ///
  /// For a terminal alone. What cannot be drawn is no failure: the results are what counts.
  package mutating func show(_ lines: [StyledLine], columns: Int, colour: Bool) {
    var text = ""
    if isInLine, !lines.isEmpty {
      text = "\r\n"
      isInLine = false
    }
    text += region.paint(lines, columns: columns, colour: colour)
    _ = Self.writeAll(Bytes(text.utf8), to: results)
  }

  /// Takes away what ``show(_:columns:colour:)`` shows.
  package mutating func hide() {
    guard !region.lines.isEmpty else { return }
    let text = region.erase(columns: TerminalWindow(of: results).columns)
    _ = Self.writeAll(Bytes(text.utf8), to: results)
  }

  /// Adds the newline that the results lack, so that what comes next on the same terminal begins a
  /// line.
  package mutating func endLine() {
    if pending.last.map({ $0 != UInt8(ascii: "\n") }) ?? isInLine { result("\n") }
  }

  /// Writes all of `bytes`, by `write(2)`; returns 0 or the error number.
  private static func writeAll(_ bytes: Bytes, to descriptor: Int32) -> Int32 {
    bytes.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let part = UnsafeRawBufferPointer(rebasing: rest)
        let written = write(descriptor, part.baseAddress, part.count)
        if written >= 0 {
          rest = rest.dropFirst(written)
        } else if errno == EAGAIN {
          waitUntilWritable(descriptor)
        } else if errno != EINTR {
          return errno
        }
      }
      return 0
    }
  }

  /// Waits: another program may have left a shared terminal or pipe in non-blocking mode.
  private static func waitUntilWritable(_ descriptor: Int32) {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    poll(&request, 1, -1)
  }
}
