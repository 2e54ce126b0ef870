import SerialqSystem

/// The end of a job's output, which a terminal that attaches shows first.
///
/// Pure and bounded. Without queries, which a terminal would answer again, and the job would take
/// the answers for keys; and without the modes, which are set first.
struct OutputTail {
  private var parser = SequenceParser()
  private var modes = TerminalModes()
  /// The output on the present screen, from the start of a line.
  private var bytes = Bytes()
  /// The output on the main screen, while the job draws on the alternate one.
  private var hidden = Bytes()

  /// Enough for a screen full of colors.
  static let most = 1 << 16

  mutating func note(_ output: Bytes) {
    var rest = output[...]
    while let element = parser.next(&rest) {
      let wasAlternate = modes.isAlternate
      modes.note(element)
      if element.isReset { (bytes, hidden) = ([], []) }
      if modes.isAlternate != wasAlternate {
        (bytes, hidden) = wasAlternate ? (hidden, []) : ([], bytes)
      }
      if !element.isQuery, !TerminalModes.has(element) { element.append(to: &bytes) }
    }
    // Cut rarely: each cut moves the rest.
    if bytes.count > 2 * Self.most { cut() }
  }

  /// Cuts before a line; what has no lines, in no sequence and no character.
  private mutating func cut() {
    let tail = bytes.suffix(Self.most)
    let start =
      tail.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 }
      ?? tail.firstIndex { $0 == SequenceParser.escape || $0 == UInt8(ascii: "\r") }
    bytes.removeSubrange(..<(start ?? tail.startIndex))
  }

  /// Whether the job draws on the alternate screen.
  var isFullScreen: Bool { modes.isAlternate }

  /// Whether the job may draw again when the size of its terminal changes: it has printed more than
  /// text.
  var isDrawn: Bool { TerminalModes.canChange(by: bytes) }

  /// What to print on a terminal of this size to show what the job has printed last: a screen full
  /// of lines, or what it has drawn on the alternate screen.
  func repaint(_ window: TerminalWindow) -> Bytes {
    let output =
      isFullScreen ? Bytes("\u{1B}[H\u{1B}[2J") + bytes : lastLines(max(1, window.rows - 1))
    return modes.sequences + output + parser.incomplete
  }

  private func lastLines(_ count: Int) -> Bytes {
    // The end of the last line separates it from no other.
    let ends = bytes.indices.dropLast().reversed().lazy.filter { bytes[$0] == UInt8(ascii: "\n") }
    return Bytes(bytes[(ends.dropFirst(count - 1).first.map { $0 + 1 } ?? 0)...])
  }
}
