import SerialqSystem

/// Encodes arbitrary bytes as text, reversibly.
///
/// Valid UTF-8 represents itself. Every other byte, always 0x80 or above, becomes the private-use
/// character U+F700 plus the byte. A genuine U+F780…U+F7FF is encoded byte by byte as if it were
/// invalid, so that no two byte strings have the same text.
enum ByteText {
  /// The length of the UTF-8 sequence at `index` if it represents itself, else 0.
  ///
  /// The ranges follow table 3-7 of the Unicode standard: no overlong forms, no surrogates.
  static func plainLength(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Int {
    let length = sequenceLength(bytes, at: index)
    return length == 3 && isEscape(bytes, at: index) ? 0 : length
  }

  /// The length of the valid UTF-8 sequence at `index`, else 0.
  static func sequenceLength(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Int {
    let first = bytes[index]
    let length: Int
    var second: ClosedRange<UInt8> = 0x80...0xBF
    switch first {
    case 0..<0x80: return 1
    case 0xC2...0xDF: length = 2
    case 0xE0...0xEF:
      length = 3
      if first == 0xE0 { second = 0xA0...0xBF }
      if first == 0xED { second = 0x80...0x9F }
    case 0xF0...0xF4:
      length = 4
      if first == 0xF0 { second = 0x90...0xBF }
      if first == 0xF4 { second = 0x80...0x8F }
    default: return 0
    }
    guard index + length <= bytes.count, second ~= bytes[index + 1] else { return 0 }
    for next in (index + 2)..<max(index + 2, index + length) {
      guard 0x80...0xBF ~= bytes[next] else { return 0 }
    }
    return length
  }

  /// Whether the three bytes at `index` encode one of U+F780…U+F7FF.
  static func isEscape(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
    bytes[index] == 0xEF && (bytes[index + 1] == 0x9E || bytes[index + 1] == 0x9F)
  }

  /// Writes the private-use character for a byte of 0x80 or more.
  static func appendEscape(of byte: UInt8, to text: inout Bytes) {
    text.append(0xEF)
    text.append(byte < 0xC0 ? 0x9E : 0x9F)
    text.append(0x80 | byte & 0x3F)
  }

  /// Decodes the private-use character at `index` to its byte.
  static func escapedByte(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt8 {
    0x80 | (bytes[index + 1] & 1) << 6 | bytes[index + 2] & 0x3F
  }
}
