import SerialqSystem
import Testing

@Suite struct TerminalQueriesTests {
  /// The output without queries; `^` is an escape.
  private func removed(_ text: String) -> String {
    var (kept, parser) = (Bytes(), SequenceParser())
    var rest = Bytes(text.replacing("^", with: "\u{1B}").utf8)[...]
    while let element = parser.next(&rest) {
      if !element.isQuery { element.append(to: &kept) }
    }
    return (kept + parser.incomplete).text.replacing("\u{1B}", with: "^")
  }

  // Fails if an answer of the terminal reaches the job a second time.
  @Test(
    "what a terminal answers is removed",
    arguments: [
      "^[c", "^[0c", "^[>c", "^[>0c", "^[=c", "^[5n", "^[6n", "^[?6n", "^[?996n", "^[?12$p",
      "^[4$p", "^[>q", "^[>0q", "^[?u", "^[?4m", "^[?4g", "^[?2;1;0S", "^[1;1;1;1;9;9*y", "^[#R",
      "^[1$w", "^[2$u", "^[&u", "^['|", "^[14t", "^[18t", "^[21t", "^[x", "^Z", "\u{5}",
      "^]10;?\u{7}", "^]11;?^\\", "^]4;1;?\u{7}", "^]52;c;?\u{7}", "^P$qm^\\", "^P+q544e^\\",
      // Strings that are no requests are not needed.
      "^]0;a title?!\u{7}", "^]0;t^\\", "^]8;;http://x/?a=b\u{7}",
    ])
  func queries(text: String) {
    #expect(removed(text) == "", "\(text)")
    #expect(removed("a\(text)^[31mb\(text)c") == "a^[31mbc", "\(text)")
  }

  // Fails if anything else is lost: colors, modes, the cursor.
  @Test(
    "everything else is kept",
    arguments: [
      "", "text\r\n", "^[31m", "^[?25l", "^[?1049h", "^[H^[2J", "^[>4;2m", "^[>4n", "^[>1u", "^[<u",
      "^[u", "^[5 q", "^[!p", "^7",
      "^8", "^(0", "^=", "^[22;0;0t", "^[23t", "^[8;24;80t", "^[1;5r", "^[3S", "ü", "^", "^[",
      "^[3", "^P",
    ])
  func others(text: String) {
    #expect(removed(text) == text, "\(text)")
  }
}
