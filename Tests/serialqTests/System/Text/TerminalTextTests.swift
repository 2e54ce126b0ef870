import TestSupport
import Testing

@testable import SerialqSystem

/// The text that output leaves on a terminal.
@Suite struct TerminalTextTests {
  /// Output as programs print it, and the text that a terminal shows then; `^` is an escape.
  static let samples: [(output: String, text: String)] = [
    // curl, wget: a bar that is redrawn from the start of the line.
    ("get\r\n\r 10% [#   ]\r 50% [##  ]\r100% [####]\r\ndone\r\n", "get\n100% [####]\ndone\n"),
    ("\r10 files to do\r2 files\u{1B}[K\r\n", "2 files\n"),
    // A bar that is covered by spaces.
    ("copying...\r          \rdone\r\n", "done\n"),
    // docker, cargo, npm: several lines that are redrawn together.
    (
      "a: wait\r\nb: wait\r\nc: wait\r\n^[3A^[2K\ra: 50%\r\n^[2Bx\r\n^[4A^[2K\ra: done^[4B\r",
      "a: done\nb: wait\nc: wait\nx\n"
    ),
    ("zero\r\none\r\ntwo^[A\r^[Jdone\r\n", "zero\ndone\n"),
    ("a^[E\rb^[Fc", "c\nb"),
    // A spinner, and a prompt that is edited.
    ("work |\u{8}/\u{8}-\u{8}\\\u{8} \r\n", "work\n"),
    ("$ ecoh hi^[5D^[2P^[2@ho^[5C\r\n", "$ echo hi\n"),
    ("password:^[1Kx\r\n", "         x\n"), ("abcdef^[3D^[2X\r\n", "abc  f\n"),
    ("abcdef\r^[2Cx^[Gy^[5`z\r\n", "ybxdzf\n"),
    // Wide characters and combining marks have columns.
    ("日本\r\nae\u{301}\u{8}x\r\n\u{1F389}!^[2D\t|\r\n", "日本\nax\n\u{1F389}!     |\n"),
    // Tabs are text at the end of a line, and a movement elsewhere.
    ("a\tb\r\nabcdefghij\r\tX\r\na\tb\rxxxx\r\n", "a\tb\nabcdefghXj\nxxxx    b\n"),
    // An editor, a title, a link, a bell.
    ("a\r\n^[?1049h^[2J^[1;1Htext^[2;1H~\r\n^[?1049lb\r\n", "a\nb\n"),
    ("^]0;title\u{7}a^]8;;http://x/^\\b^]8;;^\\\u{7}\r\n", "ab\n"),
    ("^[31mred^[m ^[?25l^(Bplain^[?2004h\r\n", "red plain\n"), ("a^[sbc^[ud", "adc"),
  ]

  /// What is left of places on a screen, which text does not have.
  static let screens: [(output: String, text: String)] = [
    // apt: a status line, for which the cursor is saved.
    (
      "a\r\n\r\n^7^[0;23r^8^[1A^7^[24;0f^[42mProgress: [ 10%]^[49m [#..]^8b\r\n^7^[24;0f^[K^8c\r\n",
      "a\nb\nc\n"
    ),
    ("a\r\n^7^[24;0fnever restored\r\nb\r\n", "a\n\nb\n"),
    // What was there before the screen was cleared is kept.
    ("old^[H^[2J^[3Jnew\r\n", "old\nnew\n"), ("old\r\n^cnew", "old\nnew"),
    ("^[2;5Ha^[9;1Hb^[9;1Hc", "    a\nc"),
    // Line ends that do not return to the start of the line.
    ("a\u{B}b\u{C}c^Dd^Ee\nf", "a\nb\nc\nd\ne\nf"),
  ]

  private static func bytes(_ text: String) -> Bytes {
    Bytes(text.replacing("^", with: "\u{1B}").utf8)
  }

  private func text(_ output: String, keepsStyle: Bool = false, window: Int = 64) -> String {
    var text = TerminalText(keepsStyle: keepsStyle, window: window)
    return (text.convert(Self.bytes(output)) + text.finish()).text
      .replacing("\u{1B}", with: "^")
  }

  // Fails if a state of a line is left that a terminal does not show, or the last one is lost.
  @Test("the text is what a terminal shows last", arguments: samples + screens)
  func text(of output: String, expected: String) {
    #expect(self.text(output) == expected)
    #expect(TerminalText.plain(Self.bytes(output)).text == expected)
  }

  // Fails if a byte of text is changed: a log could not be compared with the file that was printed.
  @Test("text without control sequences is not changed")
  func unchanged() {
    var random = SeededGenerator(seed: 17)
    let pieces: [Bytes] =
      ["a", "word ", "\t", "é", "日本", "e\u{301}", "👩\u{200D}💻", "\u{301}", "  ", "\u{202E}"]
      .map { Bytes(String($0).utf8) } + [[0xFF], [0xC3], [0x41, 0xE9, 0x42], Bytes("\n")]
    for _ in 0..<2_000 {
      let expected = (0..<20).flatMap { _ in pieces.randomElement(using: &random) ?? [] }
      let printed = expected.flatMap { $0 == 0x0A ? [0x0D, 0x0A] : [$0] }
      #expect(TerminalText.plain(printed) == expected, "\(Visible.text(expected))")
      #expect(TerminalText.plain(expected) == expected, "\(Visible.text(expected))")
    }
  }

  // Fails if a line is complete while a program can return to it, or is kept forever.
  @Test("a line is complete when as many lines as the window follow it")
  func window() {
    var text = TerminalText(keepsStyle: false, window: 3)
    #expect(text.convert(Bytes("1\r\n2\r\n")).text == "")
    #expect(text.convert(Bytes("3\r\n4\r\n")).text == "1\n2\n")
    // The cursor stops at the first line that can change.
    #expect(text.convert(Bytes("\u{1B}[9Ax\r\n\u{1B}[B5")).text == "")
    #expect(text.openLine.text == "5")
    #expect(text.finish().text == "x\n4\n5")
  }

  // Fails if a style continues in the next line, or after it is off.
  @Test("each line has its styles, and ends them")
  func styles() {
    func styled(_ output: String) -> String { text(output, keepsStyle: true) }
    #expect(styled("^[31mred\r\nred ^[1mbold^[m\r\n") == "^[31mred^[m\n^[31mred ^[0;1;31mbold^[m\n")
    #expect(styled("^[31mred^[m and ^[m^[mplain") == "^[31mred^[m and plain")
    #expect(styled("^[31mred\rx") == "^[31mxed^[m")
    // A space at the end that covers other text is shown only if it is more than a gap.
    #expect(styled("^[7m  ^[m  ^[1G^[mx\r\n") == "x^[7m ^[m\n")
    #expect(styled("^[41m10%^[m\r^[32mx  ^[m  \r\n") == "^[32mx^[m\n")
    #expect(styled("^[31mred^[2K^[m\rplain") == "plain")
    #expect(styled("^[31m日^[32m\u{8}\u{8}本") == "^[32m本^[m")
    #expect(styled("^7^[31mred^8plain") == "plain")
    #expect(text("^[31mred\r\n") == "red\n")
  }

  // Fails if the excerpt begins with a part of an editor's screen.
  @Test("in an excerpt, what precedes an end of the alternate screen is dropped")
  func cut() {
    let output = Self.bytes("~\r\n^[9;1Htext^[?1049lafter\r\n")
    #expect(TerminalText.plain(output, isCut: true).text == "after\n")
    #expect(TerminalText.plain(output).text == "~\ntextafter\n")
    let again = Self.bytes("a\r\n^[?1049h~^[?1049lb\r\n^[?1049lc\r\n")
    #expect(TerminalText.plain(again, isCut: true).text == "a\nb\nc\n")
    #expect(TerminalText.plain(Self.bytes("a^[?1049hb"), isCut: true).text == "a")
  }

  // Fails if a few bytes become a text of any size, or a line takes memory without limit.
  @Test("long lines are folded, and the cursor moves a limited number of columns")
  func bounds() {
    let long = String(repeating: "0123456789", count: 10_000)
    let lines = text(long).split(separator: "\n")
    #expect(lines.joined() == long && lines.map(\.count) == [65_536, 34_464])
    #expect(text("^[999999999999999999999Cx").count == 513)
    #expect(text("x^[999999999B^[99999A^[99999999Dy") == "y\n")
    #expect(text("x\r^[99999999@").count <= 513)
    #expect(text("x\r^[99999999Py^[99999999X") == "y")
    let marks = String(repeating: "\u{301}", count: 100_000)
    #expect(text("x\(marks)y").utf8.count < 100)
    // Combining marks of characters that are overwritten take no memory.
    var covered = TerminalText(keepsStyle: false)
    for _ in 0..<10_000 { _ = covered.convert(Bytes("\re\u{301}o\u{308}".utf8)) }
    #expect(covered.finish().text == "e\u{301}o\u{308}")
  }
}
