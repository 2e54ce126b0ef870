import SerialqSystem

/// Hands out one copy of strings that come again and again: directories and environment keys, which
/// a hundred thousand jobs usually share.
///
/// Remembers only the last few, so it costs nothing to look in and never grows.
struct SharedBytes {
  private var recent: [Bytes] = []
  private var next = 0
  private static let limit = 8

  /// The remembered copy of these bytes, or a new one; O(count).
  mutating func copy(of bytes: UnsafeBufferPointer<UInt8>) -> Bytes {
    for known in recent where known.withUnsafeBufferPointer({ $0.isSame(as: bytes) }) {
      return known
    }
    return remember(Bytes(bytes))
  }

  /// The remembered copy of these bytes, or they themselves; O(count).
  mutating func copy(of bytes: Bytes) -> Bytes {
    recent.first { $0 == bytes } ?? remember(bytes)
  }

  private mutating func remember(_ bytes: Bytes) -> Bytes {
    if recent.count < SharedBytes.limit {
      recent.append(bytes)
    } else {
      recent[next] = bytes
      next = (next + 1) % SharedBytes.limit
    }
    return bytes
  }
}
