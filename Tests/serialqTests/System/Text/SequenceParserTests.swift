import Testing

@testable import SerialqSystem

/// Text and control sequences in the output of a program.
@Suite struct SequenceParserTests {
  private func elements(of text: String) -> [SequenceParser.Element] {
    var parser = SequenceParser()
    var rest = Bytes(text.replacing("^", with: "\u{1B}").utf8)[...]
    var elements: [SequenceParser.Element] = []
    while let element = parser.next(&rest) { elements.append(element) }
    return elements
  }

  private func text(_ text: String) -> SequenceParser.Element { .text(Bytes(text.utf8)[...]) }

  private func sequence(_ parameters: String, _ final: Character) -> SequenceParser.Element {
    .sequence(parameters: Bytes(parameters.utf8), final: final.asciiValue ?? 0)
  }

  private func escape(_ final: Character, after intermediate: UInt8 = 0) -> SequenceParser.Element {
    .escape(intermediate: intermediate, final: final.asciiValue ?? 0)
  }

  // Fails if a part of a sequence counts as text, or text as a part of a sequence.
  @Test("output is split into text, control characters and sequences")
  func elements() {
    #expect(elements(of: "") == [])
    #expect(
      elements(of: "a\r\nb\u{7F}") == [
        text("a"), .control(0x0D), .control(0x0A), text("b"), .control(0x7F),
      ])
    #expect(elements(of: "^[1;31mé") == [sequence("1;31", "m"), text("é")])
    #expect(
      elements(of: "^[?25l^[2 q^[K") == [
        sequence("?25", "l"), sequence("2 ", "q"), sequence("", "K"),
      ])
    #expect(
      elements(of: "^7^(0^#8") == [
        escape("7"), escape("0", after: UInt8(ascii: "(")), escape("8", after: UInt8(ascii: "#")),
      ])
    // A control character in a sequence is obeyed; an escape character begins anew.
    #expect(
      elements(of: "^[3\n1m^[3^[1m") == [
        .control(0x0A), sequence("31", "m"), sequence("1", "m"),
      ])
    #expect(elements(of: "^é^(é") == [text("é"), text("é")])
  }

  // Fails if a title is printed, or swallows the text after it.
  @Test("strings such as titles are left out")
  func strings() {
    #expect(elements(of: "^]0;a title\u{7}a") == [text("a")])
    #expect(elements(of: "^P1\nx^\\a") == [escape("\\"), text("a")])
    #expect(elements(of: "^]0;^[1ma") == [sequence("1", "m"), text("a")])
    #expect(elements(of: "^]0;\u{18}a^[3\u{1A}m") == [text("a"), text("m")])
  }

  // Fails if the memory for parameters is not bounded.
  @Test("a sequence with very many parameters is left out")
  func long() {
    let many = String(repeating: "1;", count: 100_000)
    #expect(elements(of: "^[\(many)ma") == [text("a")])
    var parser = SequenceParser()
    var rest = Bytes("\u{1B}[\(many)".utf8)[...]
    #expect(parser.next(&rest) == nil && parser.incomplete.count < 1_000)
  }

  // Fails if the rest of a sequence is printed on a terminal that gets only the rest.
  @Test("the start of an incomplete sequence is known")
  func incomplete() {
    for start in ["\u{1B}", "\u{1B}[", "\u{1B}[38;5", "\u{1B}(", ""] {
      var parser = SequenceParser()
      var rest = Bytes("text\(start)".utf8)[...]
      while parser.next(&rest) != nil {}
      #expect(parser.incomplete.text == start && parser.isInText == start.isEmpty)
    }
    var parser = SequenceParser()
    var rest = Bytes("\u{1B}]0;a title".utf8)[...]
    #expect(parser.next(&rest) == nil && parser.incomplete.text == "\u{1B}]")
  }
}
