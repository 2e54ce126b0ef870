import Testing

@testable import SerialqSystem

/// Text and control sequences in the output of a program.
@Suite struct SequenceParserTests {
  // Fails if the memory for parameters is not bounded.
  @Test("of a sequence with very many parameters, few are kept")
  func long() {
    let many = String(repeating: "1;", count: 100_000)
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
      #expect(parser.incomplete.text == start)
    }
    var parser = SequenceParser()
    var rest = Bytes("\u{1B}]0;a title".utf8)[...]
    #expect(parser.next(&rest) == nil && parser.incomplete.text == "\u{1B}]")
  }
}
