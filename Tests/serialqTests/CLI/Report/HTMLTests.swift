import Testing

@testable import SerialqCLI

@Suite struct HTMLTests {
  // Fails if one of these is sent as it is: it would end the tag, the value or the text around it.
  @Test("what is put into markup is text, in an attribute and between tags")
  func escaping() {
    let hostile = #"</script><b a="x" c='y'>&amp;"#
    let piece: HTML = "<p title=\"\(hostile)\">\(hostile)</p>"
    let escaped = "&lt;/script&gt;&lt;b a=&quot;x&quot; c=&#39;y&#39;&gt;&amp;amp;"
    #expect(piece.markup == "<p title=\"\(escaped)\">\(escaped)</p>")
    // As one character with its mark it is no `<` to Swift, and still is one to a browser.
    let marked: HTML = "\("<\u{338}b>")"
    #expect(marked.markup == "&lt;\u{338}b&gt;")
    let twice: HTML = "<i>\(piece)</i>"
    #expect(twice.markup == "<i>\(piece.markup)</i>")
  }

  // Fails if what is not to be seen, or turns text around, is sent.
  @Test("what has no sign of its own is shown and not sent")
  func invisible() {
    let hostile = "a\u{0}b\u{1B}[2J\u{202E}\u{2066}\u{200B}\u{FEFF}\u{2028}\u{FFFE}\u{7F}\u{9B}\n"
    let piece: HTML = "\(hostile)"
    #expect(
      piece.markup == """
        a^@b^[[2J&lt;U+202E&gt;&lt;U+2066&gt;&lt;U+200B&gt;&lt;U+FEFF&gt;&lt;U+2028&gt;\
        &lt;U+FFFE&gt;^?&lt;U+009B&gt;^J
        """)
  }

  // Fails if a share is written as no browser reads it: with an exponent, or rounded to nothing.
  @Test("a share of the width is written with two digits")
  func percent() {
    let shares = [0, 0.000_05, 0.012_3, 0.5, 1].map { share -> String in
      let piece: HTML = "\(percent: share)"
      return piece.markup
    }
    #expect(shares == ["0.00%", "0.01%", "1.23%", "50.00%", "100.00%"])
  }
}
