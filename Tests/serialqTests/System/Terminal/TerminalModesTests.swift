import SerialqSystem
import Testing

/// The modes that output changes on a terminal, and what restores them.
@Suite struct TerminalModesTests {
  /// The modes after this output, whole and in pieces of every size; `^` is an escape.
  private func modes(_ text: String) -> TerminalModes {
    let bytes = Bytes(text.replacing("^", with: "\u{1B}").utf8)
    let whole = modes(bytes, inPiecesOf: max(1, bytes.count))
    for size in 1..<max(1, bytes.count) {
      #expect(modes(bytes, inPiecesOf: size) == whole, "\(text) in pieces of \(size)")
    }
    return whole
  }

  private func modes(_ bytes: Bytes, inPiecesOf size: Int) -> TerminalModes {
    var (modes, parser) = (TerminalModes(), SequenceParser())
    for start in stride(from: 0, to: bytes.count, by: size) {
      var rest = bytes[start..<min(bytes.count, start + size)]
      while let element = parser.next(&rest) { modes.note(element) }
    }
    return modes
  }

  // Fails if a terminal that attaches in the middle has other keys, no mouse, or a cursor too many.
  @Test(
    "the modes that output has changed can be changed on another terminal",
    arguments: [
      ("plain", ""), ("^[31m", ""), ("^[?25l", "^[?25l"), ("^[?25l^[?25h", ""),
      ("^[?1049h^[?25l", "^[?1049h^[?25l"), ("^[?1049h^[?1049l", ""), ("^[?47h", "^[?1049h"),
      ("^[?1047h^[?47l", ""), ("^[?2004h^[?1;1000h", "^[?1h^[?1000h^[?2004h"),
      ("^[?1000;1006h^[?1000l", "^[?1006h"), ("^[?7l^[?7h^[?7l", "^[?7l"), ("^=", "^="),
      ("^=^>", ""), ("^[?1h^[?25l^=^[!p", ""), ("^[?1049h^[?1h^c", ""), ("^[25l", ""),
      // Neither a size nor a cursor that a redraw does not set.
      ("^[?3h", ""), ("^[?6h", ""), ("^[?12l", ""), ("^[?99999999999999999999h", ""),
      ("^[?1049;25l", "^[?25l"), ("^[>1u^[>4;2m^[5 q", ""),
    ])
  func sequences(output: String, expected: String) {
    let sequences = modes(output).sequences.text.replacing("\u{1B}", with: "^")
    #expect(sequences == expected, "\(output)")
    #expect(modes(sequences) == modes(output), "\(output)")
  }

  // Fails if an editor that was left still counts.
  @Test("a program that uses the alternate screen draws the whole screen")
  func alternate() {
    for (output, isAlternate) in [
      ("", false), ("^[?1049h", true), ("^[?1049h^[31m", true), ("^[?1049h^[?1049l", false),
      ("^[?47h", true), ("^[?47h^c", false),
    ] {
      #expect(modes(output).isAlternate == isAlternate, "\(output)")
    }
  }

  // Fails if text is followed by a reset, or output that can change a terminal is not.
  @Test("only text leaves a terminal unchanged")
  func canChange() {
    for text in ["", "a\tb\r\n", "10%\r20%\u{8}\u{7}", "ü日\u{FEFF}"] {
      #expect(!TerminalModes.canChange(by: Bytes(text.utf8)), "\(text)")
    }
    for text in ["a\u{1B}", "\u{1B}[31m", "\u{E}"] {
      #expect(TerminalModes.canChange(by: Bytes(text.utf8)), "\(text)")
    }
  }

  // Fails if a mode that output can change stays changed.
  @Test("the reset restores every mode")
  func reset() {
    let reset = TerminalModes.reset.text.replacing("\u{1B}", with: "^")
    for output in ["^[?1049h", "^[?1;5;9;1000;1003;1006;2004;2026h^=", "^[?7;25l", "^[?47h^["] {
      #expect(modes(output + reset) == TerminalModes(), "\(output)")
    }
    // What is not kept as a mode: a locked keyboard, insert mode, line ends of two characters.
    for mode in [2, 4, 20] { #expect(reset.contains("^[\(mode)l"), "\(mode)") }
  }
}
