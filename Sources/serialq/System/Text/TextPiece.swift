/// One element of text that need not be UTF-8.
enum TextPiece: Equatable {
  /// A visible character, a combining mark or a space.
  case printable(UnicodeScalar)
  /// A control or format character, a line separator, or an unassigned code point.
  case unprintable(UnicodeScalar)
  /// A byte that is not part of a UTF-8 character.
  case invalid(UInt8)

  /// Splits `bytes` without loss; O(count).
  static func pieces(of bytes: Bytes) -> [TextPiece] {
    var pieces: [TextPiece] = []
    pieces.reserveCapacity(bytes.count)
    var rest = bytes[...]
    while let first = rest.first {
      guard first >= 0x80 else {
        let scalar = UnicodeScalar(first)
        pieces.append(isPrintable(scalar) ? .printable(scalar) : .unprintable(scalar))
        rest = rest.dropFirst()
        continue
      }
      let length = length(of: first)
      // The decoder rejects overlong forms and surrogates.
      if let text = String(validating: rest.prefix(length), as: UTF8.self),
        let scalar = text.unicodeScalars.first
      {
        pieces.append(isPrintable(scalar) ? .printable(scalar) : .unprintable(scalar))
        rest = rest.dropFirst(length)
      } else {
        pieces.append(.invalid(first))
        rest = rest.dropFirst()
      }
    }
    return pieces
  }

  static func arePrintable(_ bytes: Bytes) -> Bool {
    // Fast path for ASCII, which avoids the array of pieces.
    bytes.allSatisfy { isPrintable(ascii: $0) }
      || pieces(of: bytes).allSatisfy { if case .printable = $0 { true } else { false } }
  }

  var bytes: Bytes {
    switch self {
    case .printable(let scalar), .unprintable(let scalar): Bytes(String(scalar).utf8)
    case .invalid(let byte): [byte]
    }
  }

  /// The length of the UTF-8 sequence that starts with `first`.
  private static func length(of first: UInt8) -> Int {
    switch first {
    case 0xC0...0xDF: 2
    case 0xE0...0xEF: 3
    case 0xF0...0xFF: 4
    default: 1
    }
  }

  private static func isPrintable(ascii byte: UInt8) -> Bool { (0x20...0x7E).contains(byte) }

  private static func isPrintable(_ scalar: UnicodeScalar) -> Bool {
    if scalar.isASCII { return isPrintable(ascii: UInt8(scalar.value)) }
    switch scalar.properties.generalCategory {
    // Format characters reverse text (U+202E) or are invisible (U+200B).
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
      .unassigned:
      return false
    default:
      return true
    }
  }
}
