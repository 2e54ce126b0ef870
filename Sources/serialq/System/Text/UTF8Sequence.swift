/// The only decoder of UTF-8 that need not be valid.
package enum UTF8Sequence {
  /// The length of the valid sequence at `index`, else 0.
  ///
  /// The ranges follow table 3-7 of the Unicode standard: no overlong forms, no surrogates.
  package static func length(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Int {
    let first = bytes[index]
    if first < 0x80 { return 1 }
    let length = length(startingWith: first)
    let second: ClosedRange<UInt8> =
      switch first {
      case 0xE0: 0xA0...0xBF
      case 0xED: 0x80...0x9F
      case 0xF0: 0x90...0xBF
      case 0xF4: 0x80...0x8F
      default: 0x80...0xBF
      }
    guard length > 1, index + length <= bytes.count, second ~= bytes[index + 1] else { return 0 }
    for next in (index + 2)..<(index + length) {
      guard 0x80...0xBF ~= bytes[next] else { return 0 }
    }
    return length
  }

  /// The length of a sequence that starts with this byte, if valid bytes follow.
  static func length(startingWith byte: UInt8) -> Int {
    switch byte {
    case 0xC2...0xDF: 2
    case 0xE0...0xEF: 3
    case 0xF0...0xF4: 4
    default: 1
    }
  }

  /// The character of a valid sequence; nil if it is empty.
  static func scalar(_ sequence: Slice<UnsafeBufferPointer<UInt8>>) -> UnicodeScalar? {
    guard let first = sequence.first else { return nil }
    if first < 0x80 { return UnicodeScalar(first) }
    // The first byte holds the bits below its length marker, every other byte holds six.
    let start = UInt32(first) & (0x7F >> UInt32(sequence.count))
    return UnicodeScalar(sequence.dropFirst().reduce(start) { $0 << 6 | UInt32($1) & 0x3F })
  }
}
