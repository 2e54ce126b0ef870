/// Untrusted text made safe for a terminal: what would steer it is shown and not sent.
///
/// A label or a log could otherwise move the cursor, set the window's title, or turn text around
/// so that one reads something else than what is there.
package enum Visible {
  /// `bytes` on one line: `^[` for an escape, `<U+202E>` for what has no sign of its own, `<FF>`
  /// for a byte that is not UTF-8.
  package static func text(_ bytes: Bytes) -> String {
    var shown = ""
    for piece in TextPiece.pieces(of: bytes) {
      switch piece {
      case .printable(let scalar):
        shown.unicodeScalars.append(scalar)
      case .unprintable(let scalar) where scalar.value < 0x20 || scalar.value == 0x7F:
        shown += "^"
        shown.unicodeScalars.append(UnicodeScalar(UInt8(scalar.value) ^ 0x40))
      case .unprintable(let scalar):
        shown += "<U+\(hexadecimal(scalar.value, digits: 4))>"
      case .invalid(let byte):
        shown += "<\(hexadecimal(UInt32(byte), digits: 2))>"
      }
    }
    return shown
  }

  /// JSON that says the same, in which what would steer a terminal is escaped.
  package static func json(_ bytes: Bytes) -> Bytes {
    TextPiece.pieces(of: bytes).flatMap { piece -> Bytes in
      // Outside of its strings there is nothing of the kind but ends of lines.
      guard case .unprintable(let scalar) = piece, scalar != "\n" else { return piece.bytes }
      return Bytes(scalar.utf16.map { "\\u\(hexadecimal(UInt32($0), digits: 4))" }.joined().utf8)
    }
  }

  /// The last `count` lines of a log, as a terminal would have left them: of a progress line that
  /// is drawn over and over only the last state, and tabs as spaces.
  package static func lastLines(_ count: Int, of log: Bytes) -> [String] {
    var lines = log.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    // The newline that ends a log starts no line of its own.
    if lines.last?.isEmpty == true { lines.removeLast() }
    return lines.suffix(count).map { line in
      let states = line.split(separator: UInt8(ascii: "\r"))
      return withoutTabs(states.last ?? [])
    }
  }

  private static func withoutTabs(_ line: ArraySlice<UInt8>) -> String {
    let parts = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
    var shown = text(Bytes(parts.first ?? []))
    for part in parts.dropFirst() {
      shown += String(repeating: " ", count: 8 - DisplayWidth.of(shown) % 8)
      shown += text(Bytes(part))
    }
    return shown
  }

  private static func hexadecimal(_ value: UInt32, digits: Int) -> String {
    let text = String(value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
  }
}
