/// The number of terminal columns that text occupies.
///
/// Uses its own table, because `wcwidth` depends on the locale and fails above ASCII in the C
/// locale.
package enum DisplayWidth {
  package static func of(_ text: String) -> Int {
    // Fast path: ASCII text has one column per byte.
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
    return text.unicodeScalars.reduce(0) { $0 + of($1) }
  }

  /// 0 for combining marks, 2 for wide characters, otherwise 1.
  package static func of(_ scalar: UnicodeScalar) -> Int {
    if scalar.value < 0x300 { return 1 }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: return isWide(scalar) ? 2 : 1
    }
  }

  private static func isWide(_ scalar: UnicodeScalar) -> Bool {
    // A letter of a flag is one, and two of them are as wide as other emoji.
    let isLetter = (0x1F1E6...0x1F1FF).contains(scalar.value)
    return scalar.properties.isEmojiPresentation && !isLetter
      || wide.contains { $0.contains(scalar.value) }
  }

  /// East Asian wide and full-width blocks.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF,
    0x4E00...0x9FFF, 0xA000...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF,
    0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF,
    0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x2FFFD, 0x30000...0x3FFFD,
  ]
}

extension String {
  /// The text with spaces after it, or before it, up to this many columns.
  package func padded(to columns: Int, isRight: Bool = false) -> String {
    let padding = String(repeating: " ", count: Swift.max(0, columns - DisplayWidth.of(self)))
    return isRight ? padding + self : self + padding
  }

  /// The text, or its start and an ellipsis if it needs more columns.
  package func cut(to columns: Int) -> String {
    // No character has fewer bytes than columns.
    guard utf8.count > columns else { return self }
    return StyledLine(self).fitted(to: columns).rendered(color: false)
  }

  /// The words on lines of at most this many columns; a longer word is a line of its own.
  package func wrapped(to columns: Int) -> [String] {
    var lines: [String] = []
    for word in split(separator: " ") {
      if let line = lines.last, DisplayWidth.of(line) + 1 + DisplayWidth.of("\(word)") <= columns {
        lines[lines.count - 1] = "\(line) \(word)"
      } else {
        lines.append("\(word)")
      }
    }
    return lines
  }

  /// A number with at least this many digits.
  package init(
    _ number: some BinaryInteger, digits: Int, radix: Int = 10, uppercase: Bool = false
  ) {
    let text = String(number, radix: radix, uppercase: uppercase)
    self = String(repeating: "0", count: Swift.max(0, digits - text.count)) + text
  }
}
