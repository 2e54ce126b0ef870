import SerialqSystem

/// Encodes arbitrary bytes as text, reversibly.
///
/// Valid UTF-8 represents itself. Every other byte, always 0x80 or above, becomes the private-use
/// character U+F700 plus the byte. A genuine U+F780…U+F7FF is encoded byte by byte as if it were
/// invalid, so that no two byte strings have the same text.
enum ByteText {
  /// The length of the UTF-8 sequence at `index` if it represents itself, else 0.
  static func plainLength(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Int {
    let length = UTF8Sequence.length(bytes, at: index)
    return length == 3 && isEscape(bytes, at: index) ? 0 : length
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
