import SerialqSystem

/// Shares one copy of repeated strings: directories and environment keys, which most jobs have in
/// common.
///
/// Remembers only the last few, so that a lookup is cheap and the memory is bounded.
struct SharedBytes {
  private var recent: [Bytes] = []
  private var next = 0
  private static let limit = 8

  /// Returns the shared copy of these bytes, or a new one; O(count).
  mutating func copy(of bytes: UnsafeBufferPointer<UInt8>) -> Bytes {
    for known in recent where known.withUnsafeBufferPointer({ $0.isSame(as: bytes) }) {
      return known
    }
    let new = Bytes(bytes)
    if recent.count < SharedBytes.limit {
      recent.append(new)
    } else {
      recent[next] = new
      next = (next + 1) % SharedBytes.limit
    }
    return new
  }
}
