import Testing

@testable import SerialqCLI

@Suite struct HTMLTests {
  // Fails if one of these is written unescaped: it would end the tag, the value or the text around
  // it.
  @Test("text inserted into markup is escaped, in an attribute and between tags")
  func escaping() {
    let hostile = #"</script><b a="x" c='y'>&amp;"#
    let piece: HTML = "<p title=\"\(hostile)\">\(hostile)</p>"
    let escaped = "&lt;/script&gt;&lt;b a=&quot;x&quot; c=&#39;y&#39;&gt;&amp;amp;"
    #expect(piece.markup == "<p title=\"\(escaped)\">\(escaped)</p>")
    // With a combining mark it is not the character `<` to Swift, but is one to a browser.
    let marked: HTML = "\("<\u{338}b>")"
    #expect(marked.markup == "&lt;\u{338}b&gt;")
    let twice: HTML = "<i>\(piece)</i>"
    #expect(twice.markup == "<i>\(piece.markup)</i>")
  }

  // Fails if a fraction is in a format that browsers do not parse: with an exponent, or rounded to
  // nothing.
  @Test("a fraction of the width is written with two digits")
  func percent() {
    let shares = [0, 0.000_05, 0.012_3, 0.5, 1].map { share -> String in
      let piece: HTML = "\(percent: share)"
      return piece.markup
    }
    #expect(shares == ["0.00%", "0.01%", "1.23%", "50.00%", "100.00%"])
  }
}
