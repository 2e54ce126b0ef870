/// Fixed-width lowercase hexadecimal numbers.
package enum Hex {
  /// All digits of the number, with leading zeros.
  @inlinable
  package static func digits<Number: FixedWidthInteger & UnsignedInteger>(_ number: Number) -> Bytes
  {
    let alphabet: StaticString = "0123456789abcdef"
    return alphabet.withUTF8Buffer { alphabet in
      (0..<Number.bitWidth / 4).reversed().map { alphabet[Int(number >> ($0 * 4) & 0xF)] }
    }
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
