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
    // Text that covers a part of the text before.
    ("abcdef\rxy\r\n", "xycdef\n"), ("äöü\rab\r\n", "abü\n"), ("abc\rä\r\n", "äbc\n"),
    // cargo, git: a line that is erased.
    ("  Building [==>  ] 3/9\r^[K   Compiling x\r\n", "   Compiling x\n"),
    ("one\r^[2Ktwo^[2K\rthree\r\n", "three\n"), ("password:^[1Kx\r\n", "         x\n"),
    ("ab^[0Kc\r\n", "abc\n"),
    // A spinner, and a prompt that is edited.
    ("work |\u{8}/\u{8}-\u{8}\\\u{8} \r\n", "work\n"),
    ("$ ecoh\u{8} \u{8}\u{8} \u{8}ho hi\r\n", "$ echo hi\n"),
    ("\u{8}\u{8}a\u{8}\u{8}\u{8}b\r\n", "b\n"),
    // An editor, a title, a link, a bell.
    ("a\r\n^[?1049h^[2J^[1;1Htext^[2;1H~\r\n^[?1049lb\r\n", "a\nb\n"),
    ("^]0;title\u{7}a^]8;;http://x/^\\b^]8;;^\\\u{7}\r\n", "ab\n"),
    ("^[31mred^[m ^[?25l^(Bplain^[?2004h\r\n", "red plain\n"), ("a^[sb", "ab"),
  ]

  /// Of other sequences nothing is left but the text.
  static let dropped: [(output: String, text: String)] = [
    // docker, cargo, npm: several lines that are redrawn together.
    ("a: wait\r\nb: wait\r\n^[2A^[2K\ra: 50%\r\n^[2Bx\r\n", "a: wait\nb: wait\na: 50%\nx\n"),
    // apt: a status line.
    ("a\r\n^7^[0;23r^8^[1A^7^[24;0f^[42m[ 10%]^[49m [#..]^8b\r\n", "a\n[ 10%] [#..]b\n"),
    ("old^[H^[2J^[3Jnew\r\n", "oldnew\n"), ("old\r\n^cnew", "old\nnew"),
    ("a^[5Cb^[3Dc^[9Gd^[2P^[2@e^[4X", "abcde"),
    // Line ends that do not return to the start of the line.
    ("a\u{B}b\u{C}c\nd", "a\nb\nc\nd"),
    // Control characters above ASCII, as characters and as bytes, and their parts.
    ("a\u{9B}5m\u{8D}b\u{84}", "a5mb"),
  ]

  private static func bytes(_ text: String) -> Bytes {
    Bytes(text.replacing("^", with: "\u{1B}").utf8)
  }

  private func text(_ output: String, keepsStyle: Bool = false) -> String {
    var text = TerminalText(keepsStyle: keepsStyle)
    return (text.convert(Self.bytes(output)) + text.finish()).text
      .replacing("\u{1B}", with: "^")
  }

  // Fails if a state of a line is left that a terminal does not show, or the last one is lost.
  @Test(
    "the text is the last state of each line, without control sequences",
    arguments: samples + dropped)
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

  // Fails if a line is returned before it ends, or is held back after that.
  @Test("a line is complete when it ends")
  func lines() {
    var text = TerminalText(keepsStyle: false)
    #expect(text.convert(Bytes("1\r\n2\r")).text == "1\n")
    #expect(text.convert(Bytes("3\u{1B}")).text == "")
    #expect(text.convert(Bytes("[K4\r\n5")).text == "34\n")
    #expect(text.finish().text == "5")
    #expect(text.finish().isEmpty)
  }

  // Fails if a style continues in the next line, or after it is off.
  @Test("each line has its styles, and ends them")
  func styles() {
    func styled(_ output: String) -> String { text(output, keepsStyle: true) }
    #expect(
      styled("^[31mred\r\nred ^[1mbold^[m\r\n") == "^[31mred^[m\n^[31mred ^[1mbold^[m\n")
    #expect(styled("^[31mred^[m and ^[m^[mplain") == "^[31mred^[m and plain")
    #expect(
      styled("^[31mred^[39m, ^[32mgreen^[0;1mbold\r\n^[01;34mx") == """
        ^[31mred^[39m, ^[32mgreen^[m^[0;1mbold^[m
        ^[0;1m^[01;34mx^[m
        """)
    #expect(styled("^[31mred\rx") == "^[31mxed^[m")
    #expect(styled("^[31mred^[m\rx") == "x^[31med^[m")
    // A space at the end that covers other text is shown only if it has a style.
    #expect(styled("^[7m  ^[m  ^[1Gx\r^[my\r\n") == "y^[7m ^[m  x\n")
    #expect(styled("^[41m10%^[m\r^[32mx  ^[m  \r\n") == "^[32mx  ^[m\n")
    #expect(styled("^[31mred\r^[2K^[m\rplain") == "plain")
    #expect(styled("^[31m") == "")
    // Not a style.
    #expect(styled("^[>4;2mx^[?4my") == "xy")
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
  @Test("long lines are folded, and a style has a limited length")
  func bounds() {
    let long = String(repeating: "0123456789", count: 10_000)
    let lines = text(long).split(separator: "\n")
    #expect(lines.joined() == long && lines.map(\.count) == [65_536, 34_464])
    #expect(text("^[999999999999999999999Cx") == "x")
    let bold = String(repeating: "^[1m", count: 100_000)
    #expect(text("\(bold)x\r\ny", keepsStyle: true).utf8.count < 200)
  }
}
