/// Escapes untrusted text for a terminal: shows control characters instead of sending them.
///
/// A label or a log could otherwise move the cursor, set the window title, or reverse text so that
/// it reads differently.
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
  /// Keeps only the last state of a line redrawn with carriage returns. Expands tabs. Drops color
  /// sequences, which say nothing in an excerpt; shows other control characters.
  package static func lastLines(_ count: Int, of log: Bytes) -> [String] {
    var lines = log.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    // The final newline of a log does not start another line.
    if lines.last?.isEmpty == true { lines.removeLast() }
    return lines.suffix(count).map { line in
      let states = line.split(separator: UInt8(ascii: "\r"))
      return withoutTabs(withoutColors(states.last ?? [])[...])
    }
  }

  /// Removes SGR sequences, `ESC [ 1 ; 31 m`, and an `ESC [ K` directly after one: grep and gcc
  /// write it as a part of each color.
  static func withoutColors(_ line: ArraySlice<UInt8>) -> Bytes {
    let parts = line.split(separator: SequenceParser.escape, omittingEmptySubsequences: false)
    var kept = Bytes(parts[0])
    var isAfterColor = false
    for part in parts.dropFirst() {
      let end = part.dropFirst().firstIndex { !(0x30...0x3B).contains($0) }
      let isSequence = part.first == UInt8(ascii: "[")
      if isSequence, let end, part[end] == UInt8(ascii: "m") {
        kept += part[(end + 1)...]
        isAfterColor = end + 1 == part.endIndex
      } else if isAfterColor, part.starts(with: Bytes("[K")) {
        kept += part.dropFirst(2)
        isAfterColor = false
      } else {
        kept += [SequenceParser.escape] + part
        isAfterColor = false
      }
    }
    return kept
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

  private static func hexadecimal(_ value: UInt32, _ digits: Int) -> String {
    String(value, digits: digits, radix: 16, uppercase: true)
  }
}
