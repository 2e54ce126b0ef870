import SerialqSystem

/// The checksum of a journal line: the CRC-32 of zip, gzip and `crc32(1)`.
enum CRC32 {
  /// Eight tables of 256 entries, for eight bytes a step: the checksum must not dominate a replay.
  private static let tables = [UInt32](unsafeUninitializedCapacity: 8 * 256) { tables, count in
    count = 8 * 256
    tables[0] = 0
    var value: UInt32 = 1
    var bit = 128
    while bit > 0 {
      value = value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1
      // Linear: the entry for `a ^ b` is the entry for `a` ^ the entry for `b`.
      for byte in stride(from: 0, to: 256, by: 2 * bit) {
        tables[byte + bit] = tables[byte] ^ value
      }
      bit /= 2
    }
    for index in 256..<count {
      let previous = tables[index - 256]
      tables[index] = previous >> 8 ^ tables[Int(previous & 0xFF)]
    }
  }

  /// The checksum of these bytes; O(count).
  static func sum(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt32 {
    let raw = UnsafeRawBufferPointer(bytes)
    return tables.withUnsafeBufferPointer { table in
      var sum: UInt32 = 0xFFFF_FFFF
      var index = 0
      while index + 8 <= raw.count {
        let word = UInt64(
          littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
        let mixed = word ^ UInt64(sum)
        sum = 0
        for lane in 0..<8 {
          let byte = Int(truncatingIfNeeded: mixed >> UInt64(8 * lane) & 0xFF)
          sum ^= table[(7 - lane) * 256 + byte]
        }
        index += 8
      }
      while index < raw.count {
        sum = sum >> 8 ^ table[Int(UInt8(truncatingIfNeeded: sum) ^ raw[index])]
        index += 1
      }
      return ~sum
    }
  }

  static func sum(_ bytes: Bytes) -> UInt32 { bytes.withUnsafeBufferPointer { sum($0) } }
}
