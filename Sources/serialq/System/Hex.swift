/// Fixed-width lowercase hexadecimal numbers.
package enum Hex {
  /// All digits of the number, with leading zeros.
  @inlinable
  package static func digits<Number: FixedWidthInteger & UnsignedInteger>(_ number: Number) -> Bytes
  {
    digits(UInt64(number), count: Number.bitWidth / 4)
  }

  /// Not generic: with generic shifts, which are not specialized in other modules, eight digits
  /// took 5,400 instructions instead of 870.
  @usableFromInline
  package static func digits(_ number: UInt64, count: Int) -> Bytes {
    var digits = Bytes(repeating: 0, count: count)
    var rest = number
    for index in digits.indices.reversed() {
      let digit = UInt8(rest & 0xF)
      digits[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
      rest >>= 4
    }
    return digits
  }

  /// Parses eight digits as ``digits(_:)`` writes them, and nothing else.
  package static func number(_ digits: UnsafeBufferPointer<UInt8>.SubSequence) -> UInt32? {
    guard digits.count == 8 else { return nil }
    var number: UInt32 = 0
    for byte in digits {
      guard let digit = digit(byte) else { return nil }
      number = number << 4 | UInt32(digit)
    }
    return number
  }

  package static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
