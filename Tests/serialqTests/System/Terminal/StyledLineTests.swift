import Testing

@testable import SerialqSystem

@Suite struct StyledLineTests {
  // Fails if a line that fits is cut, or a line that does not fit keeps too much.
  @Test("a line is cut to the available columns, and the cut is marked")
  func fitted() {
    func fitted(_ text: String, _ columns: Int) -> String {
      StyledLine(text).fitted(to: columns).rendered(color: false)
    }
    #expect(fitted("abcdef", 6) == "abcdef")
    #expect(fitted("abcdef", 5) == "abcd…")
    #expect(fitted("abcdef", 1) == "…")
    #expect(fitted("abcdef", 0) == "")
    #expect(fitted("", 3) == "")
  }

  // Fails if width is counted in characters or bytes: a wide character is then cut in half, or
  // overflows.
  @Test("wide characters are not cut in half, and combining marks stay with theirs")
  func wide() {
    for columns in 1...12 {
      let line = StyledLine("日本語ビルド").fitted(to: columns)
      #expect(line.width <= columns && line.width >= columns - 1, "\(columns)")
    }
    #expect(StyledLine("日本語").fitted(to: 4).rendered(color: false) == "日…")
    let marked = "e\u{301}e\u{301}e\u{301}"
    #expect(StyledLine(marked).fitted(to: 3).rendered(color: false) == marked)
    let cut = StyledLine(marked).fitted(to: 2).rendered(color: false)
    #expect(cut.unicodeScalars.elementsEqual("e\u{301}…".unicodeScalars))
  }

  // Fails if the cut loses the colors, or colors plain text.
  @Test("a line that is cut keeps its colors")
  func colors() {
    let line = StyledLine("ab", .red) + StyledLine("cdef")
    #expect(line.fitted(to: 4).rendered(color: true) == "\u{1B}[31mab\u{1B}[0mc…")
    #expect(line.fitted(to: 2).rendered(color: true) == "\u{1B}[31ma\u{1B}[0m\u{1B}[31m…\u{1B}[0m")
    #expect(line.rendered(color: false) == "abcdef")
  }

  // Fails if a long left part pushes the right end out of the line.
  @Test("the text at the right end stays, and the left part is cut")
  func beside() {
    func line(_ left: String, _ columns: Int) -> String {
      StyledLine(left).beside(StyledLine("10s"), in: columns).rendered(color: false)
    }
    #expect(line("abc", 10) == "abc    10s")
    #expect(line("abcdef", 10) == "abcdef 10s")
    #expect(line("abcdefg", 10) == "abcde… 10s")
    #expect(line("日本語日", 10) == "日本…  10s")
    #expect(line("abc", 4) == "10s")
    #expect(line("abc", 2) == "1…")
  }
}
