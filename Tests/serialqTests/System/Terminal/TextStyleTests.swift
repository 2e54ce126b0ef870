import Testing

@testable import SerialqSystem

/// Styles and colors of text on a terminal.
@Suite struct TextStyleTests {
  private func style(_ parameters: String...) -> TextStyle {
    var style = TextStyle()
    for parameters in parameters { style.apply(Bytes(parameters.utf8)) }
    return style
  }

  private func sequence(_ style: TextStyle, after before: TextStyle = TextStyle()) -> String {
    style.sequence(after: before).text.replacing("\u{1B}", with: "^")
  }

  // Fails if a color or an attribute is lost, or another is set.
  @Test(
    "the sequence of a style sets the style",
    arguments: [
      ("", ""), ("0", ""), ("1", "^[1m"), ("1;31", "^[1;31m"), ("31;1;41", "^[1;31;41m"),
      ("97;107", "^[97;107m"), ("38;5;208", "^[38;5;208m"), ("48;2;1;2;3", "^[48;2;1;2;3m"),
      ("38:2::1:2:3", "^[38:2::1:2:3m"), ("38:2:1:2:3", "^[38:2:1:2:3m"), ("38:5:9", "^[38:5:9m"),
      ("58;5;3;4;1", "^[1;4;58;5;3m"), ("4:3", "^[4:3m"), ("21", "^[21m"),
      ("3;7;9;53", "^[3;7;9;53m"),
      ("1;2", "^[1;2m"), ("1;2;22", ""), ("5;6", "^[6m"), ("4;24", ""), ("4:3;4:0", ""),
      ("12;10", ""),
      ("31;39;41;49", ""), ("38;5", ""), ("1;38;2;1;2", "^[1m"), ("53;55;58:5:1;59;23", ""),
      ("38;9;1", "^[1;9m"), ("31;;", ""),
      ("1;0;3", "^[3m"),
      ("4;999999999999999999999", "^[4m"), ("0000000000000000001;7", "^[7m"), ("?1", ""),
      ("1 ", ""), (">4;1", ""),
    ])
  func sequences(parameters: String, expected: String) {
    let style = style(parameters)
    #expect(sequence(style) == expected)
    #expect(style.isPlain == expected.isEmpty)
    // What the sequence sets is the same style.
    let codes = expected.dropFirst(2).dropLast()
    #expect(self.style(String(codes)) == style)
  }

  // Fails if a style of the text before stays on.
  @Test("the sequence after another style ends what is not part of the new one")
  func changes() {
    #expect(sequence(style("31"), after: style("31")) == "")
    #expect(sequence(style("31"), after: style("1;32")) == "^[0;31m")
    #expect(sequence(style(), after: style("1;32")) == "^[m")
    #expect(style("1", "31", "22") == style("31"))
  }
}
