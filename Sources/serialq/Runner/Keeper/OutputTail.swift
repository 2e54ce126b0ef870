import SerialqSystem

/// The end of a job's output, from which a terminal that attaches is painted.
///
/// Pure and bounded. The cut is before a line, so that it is in no sequence and no character, and
/// what the dropped part has changed on a terminal is kept as a ``TerminalTrace``.
struct OutputTail {
  /// What the output before `bytes` has changed.
  private var before = TerminalTrace()
  private var bytes = Bytes()

  /// Enough for a screen full of colors.
  static let most = 1 << 16

  mutating func note(_ new: Bytes) {
    bytes += new
    // Cut rarely: each cut moves the rest.
    guard bytes.count > 2 * Self.most else { return }
    let start = bytes.count - Self.most
    let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? start
    before.note(Bytes(bytes[..<end]))
    bytes.removeSubrange(..<end)
  }

  /// What to print on a terminal of this size to show what the job has printed last.
  ///
  /// The last lines, at most a screen full; of a job that draws the whole screen, what is kept since
  /// it began to. Without queries: the terminal would answer them again, and the job would take the
  /// answers for keys.
  func repaint(_ window: TerminalWindow) -> Bytes {
    let start = isFullScreen ? startOfFullScreen : start(ofLast: max(1, window.rows - 1))
    var trace = before
    trace.note(Bytes(bytes[..<start]))
    let clear = trace.isFullScreen ? Bytes("\u{1B}[H\u{1B}[2J".utf8) : []
    return trace.redo + clear + TerminalQueries.removed(from: bytes[start...])
  }

  /// Where the job switched to the alternate screen; 0 if that is not kept.
  ///
  /// What precedes it belongs to the main screen, which the terminal that is painted keeps.
  private var startOfFullScreen: Int {
    var trace = before
    var (start, from) = (0, 0)
    for index in bytes.indices where bytes[index] == UInt8(ascii: "h") {
      let wasFullScreen = trace.isFullScreen
      trace.note(Bytes(bytes[from...index]))
      if !wasFullScreen, trace.isFullScreen {
        start = bytes[from...index].lastIndex(of: SequenceParser.escape) ?? from
      }
      from = index + 1
    }
    return start
  }

  /// Whether the job draws the whole screen, and draws it again when its size changes.
  var isFullScreen: Bool {
    var trace = before
    trace.note(bytes)
    return trace.isFullScreen
  }

  private func start(ofLast lines: Int) -> Int {
    var left = lines
    // The end of the last line separates it from no other.
    for index in bytes.indices.dropLast().reversed() where bytes[index] == UInt8(ascii: "\n") {
      left -= 1
      if left == 0 { return index + 1 }
    }
    return 0
  }
}
