import SerialqSystem
import Testing

/// What the output of a program leaves changed on a terminal.
@Suite struct TerminalTraceTests {
  private static let escape = "\u{1B}"

  /// The undo sequence after this output, whole and in pieces of every size; `^` is an escape.
  private func undo(_ text: String) -> String {
    let bytes = Bytes(text.replacing("^", with: Self.escape).utf8)
    var whole = TerminalTrace()
    whole.note(bytes)
    for size in 1...max(1, bytes.count) {
      var pieces = TerminalTrace()
      for start in stride(from: 0, to: bytes.count, by: size) {
        pieces.note(Bytes(bytes[start..<min(bytes.count, start + size)]))
      }
      #expect(pieces.undo == whole.undo, "\(text) in pieces of \(size)")
    }
    return whole.undo.text.replacing(Self.escape, with: "^").replacing("\u{18}", with: "!")
  }

  // Fails if a color is reset that the job has reset itself, or one is left behind.
  @Test(
    "a style that is not reset is reset",
    arguments: [
      ("plain", ""), ("^[31mred", "^[m"), ("^[31mred^[0m", ""), ("^[31mred^[m", ""),
      ("^[31mred^[39m", ""), ("^[1;31mred^[39m", "^[m"), ("^[1;31mred^[22;39m", ""),
      ("^[0;1m", "^[m"), ("^[1;0m", ""), ("^[38;5;0m", "^[m"), ("^[38;5;9m^[39m", ""),
      ("^[48;2;0;0;0m^[39m", "^[m"), ("^[48;2;0;0;0;1m^[49m", "^[m"), ("^[38:2::1:2:3m", "^[m"),
      ("^[4:3m", "^[m"), ("^[4:3m^[4:0m", ""), ("^[97;101m^[39;49m", ""), ("^[31;;m", ""),
      ("^[31mred^c", ""), ("^[7m^[!p", ""), ("^[K^[2J^[10;5H", ""),
    ])
  func styles(output: String, expected: String) {
    #expect(undo(output) == expected, "\(output)")
  }

  // Fails if a mode is left changed, or one is changed that the job has restored.
  @Test(
    "a hidden cursor, the alternate screen, and modes of input are restored",
    arguments: [
      ("^[?25l", "^[?25h"), ("^[?25l^[?25h", ""), ("^[?1049h", "^[?1049l"),
      ("^[?1049h^[?25l^[?1049l", "^[?25h"), ("^[?47h", "^[?47l"), ("^[?1047h^[?47l", ""),
      ("^[?2004h", "^[?2004l"), ("^[?1000;1006h", "^[?1000l^[?1006l"), ("^[?7l", "^[?7h"),
      ("^[4h", "^[4l"), ("^[4h^[4l", ""), ("^[3;5r", "^7^[r^8"), ("^[3;5r^[r", ""), ("^=", "^>"),
      ("^=^>", ""), ("^[4h^(0^[!p", ""), ("^[?5h^[?6h", "^[?5l^[?6l"),
      ("^[?1h^[?25l^[!p", ""), ("^[25l", ""), ("^[?12l", ""), ("^[?25l^c", ""),
      ("^[?25l^[?1049h^[31m", "^[?1049l^[?25h^[m"),
      // Leaving the alternate screen restores the style from before.
      ("^[31m^[?1049h^[0m^[?1049l", "^[m"), ("^[?1049h^[31m^[?1049l", ""),
      ("^[31m^[?1049h^[0m", "^[?1049l^[m"),
    ])
  func modes(output: String, expected: String) {
    #expect(undo(output) == expected, "\(output)")
  }

  // Fails if a shell gets sequences in place of keys such as Ctrl-C, or a bar as its cursor.
  @Test(
    "how keys are sent, and the shape of the cursor, are restored",
    arguments: [
      ("^[>4;2m", "^[>4m"), ("^[>4;2m^[>4;0m", ""), ("^[>4;2m^[>4m", ""), ("^[>4;1m^[>m", ""),
      ("^[>4;2m^[>4n", ""), ("^[>1;2m", ""), ("^[>1u", "^[<1u"), ("^[>1u^[>3u", "^[<2u"),
      ("^[>1u^[<u", ""), ("^[>1u^[>3u^[<2u", ""), ("^[>1u^[<9u", ""), ("^[=5u", "^[=0u"),
      ("^[=5u^[=0u", ""), ("^[=1;2u", "^[=0u"), ("^[?u", ""), ("^[u", ""), ("^[s^[u", ""),
      ("^[>1u^c", ""), ("^[?1049h^[>1u^[>4;2m", "^[<1u^[?1049l^[>4m"), ("^[6n^[n", ""),
      ("^[5 q", "^[0 q"), ("^[5 q^[0 q", ""), ("^[5 q^[ q", ""), ("^[1q", ""),
      ("^[?2031;2048h", "^[?2031l^[?2048l"),
    ])
  func keyboard(output: String, expected: String) {
    #expect(undo(output) == expected, "\(output)")
  }

  // Fails if the next message is swallowed by a sequence that the job did not complete, or text in
  // a title counts as a sequence.
  @Test(
    "an incomplete sequence is ended",
    arguments: [
      ("^", "!"), ("^[", "!"), ("^[3", "!"), ("^]0;title", "!"), ("^]0;title\u{7}", ""),
      ("^]0;[31m^\\", ""), ("^P+q^\\", ""), ("^[3\u{18}", ""), ("^[3\u{1A}m", ""),
      ("^(0", "^(B"), ("^(0^(B", ""), ("^(", "!"), ("^[3\n1m", "^[m"), ("^[3^[1m", "^[m"),
      ("^]^[?25l", "^[?25h"),
    ])
  func incomplete(output: String, expected: String) {
    #expect(undo(output) == expected, "\(output)")
  }

  // Fails if a terminal that attaches in the middle has other colors, keys or no cursor, or shows
  // the rest of a sequence as text.
  @Test(
    "what the output has changed can be changed on another terminal",
    arguments: [
      ("plain", ""), ("^[1;31mred", "^[1;31m"), ("^[31mred^[m", ""), ("^[?25l", "^[?25l"),
      ("^[?1049h^[?25l", "^[?1049h^[?25l"), ("^[?2004h^[?1;1000h", "^[?1h^[?1000h^[?2004h"),
      ("^[?7l^[?7h^[?7l", "^[?7l"), ("^(0", "^(0"), ("^=", "^="), ("^[4h", "^[4h"),
      ("^[3;5r", "^7^[3;5r^8"), ("^[3;5r^[r", ""), ("^[>4;2m", "^[>4;2m"), ("^[5 q", "^[5 q"),
      ("^[=1u^[>3u^[>5u", "^[=1u^[>3u^[>5u"), ("^[?1049h^[>1u", "^[?1049h^[>1u"),
      ("^[>1u^[=5u", "^[>5u"),
      // Leaving the alternate screen restores the style from before.
      ("^[31m^[?1049h^[1m", "^[31m^[?1049h^[0;1;31m"), ("^[31m^[?1049h^[m", "^[31m^[?1049h^[m"),
      ("^[31m^[?1049h^[1m^[?1049l", "^[31m"), ("^[38;5", "^[38;5"), ("^[31m^", "^[31m^"),
    ])
  func redo(output: String, expected: String) {
    var trace = TerminalTrace()
    trace.note(Bytes(output.replacing("^", with: Self.escape).utf8))
    #expect(trace.redo.text.replacing(Self.escape, with: "^") == expected, "\(output)")
    var again = TerminalTrace()
    again.note(trace.redo)
    #expect(again.undo == trace.undo && again.redo == trace.redo, "\(output)")
  }

  // Fails if an editor that was left still counts.
  @Test("a program that uses the alternate screen draws the whole screen")
  func fullScreen() {
    var trace = TerminalTrace()
    #expect(!trace.isFullScreen)
    for (output, isFullScreen) in [
      ("[?1049h", true), ("[31m", true), ("[?1049l", false), ("[?47h", true), ("c", false),
    ] {
      trace.note(Bytes((Self.escape + output).utf8))
      #expect(trace.isFullScreen == isFullScreen, "\(output)")
    }
  }
}
