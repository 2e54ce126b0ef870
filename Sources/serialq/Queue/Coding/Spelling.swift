import SerialqSystem

extension UnsafeBufferPointer<UInt8> {
  /// Whether these bytes spell the word, by `memcmp(3)`: a replay compares every member name.
  func spells(_ word: StaticString) -> Bool {
    word.withUTF8Buffer { isSame(as: $0) }
  }

  /// Whether both contain the same bytes, by `memcmp(3)`.
  func isSame(as other: UnsafeBufferPointer<UInt8>) -> Bool {
    guard count == other.count else { return false }
    guard let left = baseAddress, let right = other.baseAddress else { return true }
    return memcmp(left, right, count) == 0
  }
}
