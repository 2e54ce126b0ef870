/// One step through text that need not be UTF-8.
enum TextPiece: Equatable {
  /// Has a sign of its own, or is a mark upon one, or a space.
  case printable(UnicodeScalar)
  /// A control or format character, a line separator, or nothing that Unicode knows.
  case unprintable(UnicodeScalar)
  /// A byte that is not part of any UTF-8 character.
  case invalid(UInt8)

  /// Takes `bytes` apart, losing nothing.
  ///
  /// O(bytes).
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
      // The decoder is the judge of overlong forms and of surrogates.
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

  /// Whether all of `bytes` is printable.
  static func arePrintable(_ bytes: Bytes) -> Bool {
    // Plain ASCII, as nearly always, without a look at each piece.
    bytes.allSatisfy { isPrintable(ascii: $0) }
      || pieces(of: bytes).allSatisfy { if case .printable = $0 { true } else { false } }
  }

  /// The bytes that it was made from.
  var bytes: Bytes {
    switch self {
    case .printable(let scalar), .unprintable(let scalar): Bytes(String(scalar).utf8)
    case .invalid(let byte): [byte]
    }
  }

  /// How many bytes a character takes that starts with `first`.
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
    // Format characters turn text around (U+202E) or are not to be seen (U+200B).
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
      .unassigned:
      return false
    default:
      return true
    }
  }
}
