import SerialqSystem
import Testing

@Suite struct ControlKeyTests {
  /// Where the key is in what a terminal sent, of which `^` is an escape.
  private func range(_ keys: String, of key: ControlKey = .backslash) -> Range<Int>? {
    key.range(in: Bytes(keys.replacing("^", with: "\u{1B}").utf8))
  }

  // Fails if only the first byte of a read is compared.
  @Test("the key is found as a byte, anywhere")
  func byte() {
    #expect(range("\u{1C}") == 0..<1)
    #expect(range("abc\u{1C}\u{1C}d") == 3..<4)
    #expect(range("ü\u{1C}") == 2..<3)
    #expect(range("abc") == nil && range("") == nil)
    #expect(range("a\u{1}", of: ControlKey(1)) == 1..<2)
  }

  // Fails if an editor that makes the terminal send sequences cannot be left.
  @Test(
    "the key is found as a sequence, as editors make terminals send it",
    arguments: [
      "^[92;5u", "^[27;5;92~", "^[92;69u", "^[92;133u", "^[92:124;5u", "^[92;5:1u", "^[92;5:2u",
      "^[92;6u", "^[92;5;28u",
    ])
  func sequence(keys: String) {
    #expect(range(keys) == 0..<keys.utf8.count)
    #expect(range("x^[A\(keys)y") == 4..<(4 + keys.utf8.count))
  }

  // Fails if any key with the same number, or the release of the key, leaves.
  @Test(
    "other sequences are not the key",
    arguments: [
      "^[92u", "^[92;1u", "^[92;3u", "^[92;7u", "^[93;5u", "^[92;5:3u", "^[92;5~", "^[27;5;93~",
      "^[27;1;92~", "^[1;5A", "^[5;92~", "^[;u", "^[u", "^[", "^", "^[92;5", "^[;;~", "^[92;u",
      "^[99999999999999999999;5u", "^[92;99999999999999999999u",
    ])
  func others(keys: String) {
    #expect(range(keys) == nil)
  }

  // Fails if a letter is only found in one case.
  @Test("a letter is found in both cases")
  func letters() {
    for keys in ["^[97;5u", "^[65;5u", "^[27;5;97~", "\u{1}"] {
      #expect(range(keys, of: ControlKey(1)) != nil)
      #expect(range(keys, of: ControlKey(2)) == nil)
    }
  }
}
