/// Escapes untrusted text for a terminal: shows control characters instead of sending them.
///
/// A label or a log could otherwise move the cursor, set the window title, or reverse text so that
/// it reads differently. So untrusted text stays `Bytes` until it is escaped here, and a `String`
/// can be shown as it is. A ``Failure`` escapes its text itself.
package enum Visible {
  /// `bytes` on one line: `^[` for an escape, `<U+202E>` for an invisible character, `<FF>` for a
  /// byte that is not UTF-8.
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
        shown += "<U+\(hexadecimal(scalar.value, 4))>"
      case .invalid(let byte):
        shown += "<\(hexadecimal(UInt32(byte), 2))>"
      }
    }
    return shown
  }

  /// Equivalent JSON in which control characters are escaped.
  package static func json(_ bytes: Bytes) -> Bytes {
    TextPiece.pieces(of: bytes).flatMap { piece -> Bytes in
      // JSON has no unprintable characters outside of strings, except for newlines.
      guard case .unprintable(let scalar) = piece, scalar != "\n" else { return piece.bytes }
      return Bytes(scalar.utf16.map { "\\u\(hexadecimal(UInt32($0), 4))" }.joined().utf8)
    }
  }

  /// The last `count` lines of a log as a terminal would show them.
  ///
  /// Keeps only the last state of a line redrawn with carriage returns. Drops color sequences,
  /// which say nothing in an excerpt, and takes a tab for a space; shows other control characters.
  package static func lastLines(_ count: Int, of log: Bytes) -> [String] {
    var lines = log.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    // The final newline of a log does not start another line.
    if lines.last?.isEmpty == true { lines.removeLast() }
    return lines.suffix(count).map { line in
      let states = line.split(separator: UInt8(ascii: "\r"))
      return text(withoutColors(states.last ?? []).map { $0 == UInt8(ascii: "\t") ? 0x20 : $0 })
    }
  }

  /// Removes colors, `ESC [ 1 ; 31 m`, and `ESC [ K`, which grep and gcc write as a part of each.
  static func withoutColors(_ line: ArraySlice<UInt8>) -> Bytes {
    var (kept, rest, parser) = (Bytes(), line, SequenceParser())
    while let start = rest.indices.first {
      switch parser.next(&rest) {
      case .sequence(_, UInt8(ascii: "m")), .sequence(_, UInt8(ascii: "K")): break
      default: kept += line[start..<rest.startIndex]
      }
    }
    return kept
  }

  private static func hexadecimal(_ value: UInt32, _ digits: Int) -> String {
    String(value, digits: digits, radix: 16, uppercase: true)
  }
}
