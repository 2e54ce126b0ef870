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
    bytes.withUnsafeBufferPointer { bytes in
      var pieces: [TextPiece] = []
      pieces.reserveCapacity(bytes.count)
      var index = 0
      while index < bytes.count {
        let length = UTF8Sequence.length(bytes, at: index)
        if let scalar = UTF8Sequence.scalar(bytes[index..<index + length]) {
          pieces.append(isPrintable(scalar) ? .printable(scalar) : .unprintable(scalar))
        } else {
          pieces.append(.invalid(bytes[index]))
        }
        index += max(1, length)
      }
      return pieces
    }
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
