import SerialqSystem

/// Writes JSON as bytes, compactly and in the order of the calls; for journal lines and for
/// `--json`.
///
///     var json = JSONWriter()
///     json.object { json in
///       json.member("id", 17)
///       json.key("command")
///       json.array { json in words.forEach { json.string($0) } }
///     }
///
/// Text goes through ``ByteText``, so whatever the bytes are, the output is valid JSON in UTF-8.
package struct JSONWriter {
  package private(set) var bytes: Bytes
  /// Whether the next value or key needs a comma before it.
  private var follows = false

  package init(reservingCapacity capacity: Int = 256) {
    bytes = []
    bytes.reserveCapacity(capacity)
  }

  /// Writes an object with the members that the closure writes.
  package mutating func object(_ members: (inout JSONWriter) -> Void) {
    open()
    members(&self)
    close()
  }

  /// Writes an array with the elements that the closure writes.
  package mutating func array(_ elements: (inout JSONWriter) -> Void) {
    open("[")
    elements(&self)
    close("]")
  }

  /// Writes the name of the next member.
  package mutating func key(_ name: StaticString) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    name.withUTF8Buffer { bytes.append(contentsOf: $0) }
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
    follows = false
  }

  package mutating func null() { literal("null") }

  mutating func bool(_ value: Bool) { literal(value ? "true" : "false") }

  package mutating func int(_ value: Int64) {
    separate()
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    // Without a string: each line of a journal has several numbers.
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var (rest, start) = (value.magnitude, digits.count)
      repeat {
        start -= 1
        digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      } while rest > 0
      bytes.append(contentsOf: UnsafeMutableBufferPointer(rebasing: digits[start...]))
    }
  }

  /// Writes the shortest number that parses to the same value; null for none, or if JSON
  /// cannot represent it.
  package mutating func double(_ value: Double?) {
    guard let value, value.isFinite else { return null() }
    separate()
    bytes.append(contentsOf: value.description.utf8)
  }

  /// Writes text that need not be UTF-8.
  mutating func string(_ text: Bytes) { text.withUnsafeBufferPointer { string($0) } }

  mutating func string(_ text: String) { string(Bytes(text.utf8)) }

  /// A line with one value, for standard output.
  package static func line(_ value: (inout JSONWriter) -> Void) -> Bytes {
    var json = JSONWriter()
    value(&json)
    json.endLine()
    return json.bytes
  }

  /// Ends a line after a complete value and resets the state.
  package mutating func endLine() {
    bytes.append(UInt8(ascii: "\n"))
    follows = false
  }

  /// Removes the content but keeps the capacity.
  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    follows = false
  }

  /// The checksum of the bytes from `start` on.
  func checksum(from start: Int) -> UInt32 {
    bytes.withUnsafeBufferPointer { CRC32.sum(UnsafeBufferPointer(rebasing: $0[start...])) }
  }

  /// Begins an object.
  mutating func open(_ opening: Unicode.Scalar = "{") {
    separate()
    bytes.append(UInt8(ascii: opening))
    follows = false
  }

  /// Ends it.
  mutating func close(_ closing: Unicode.Scalar = "}") {
    bytes.append(UInt8(ascii: closing))
    follows = true
  }

  private mutating func literal(_ text: StaticString) {
    separate()
    text.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  private mutating func separate() {
    if follows { bytes.append(UInt8(ascii: ",")) }
    follows = true
  }

  private mutating func string(_ text: UnsafeBufferPointer<UInt8>) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    var index = 0
    var plainStart = 0
    while index < text.count {
      let byte = text[index]
      if byte < 0x80, byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
        index += 1
        continue
      }
      let length = byte < 0x80 ? 0 : ByteText.plainLength(text, at: index)
      if length > 0 {
        index += length
        continue
      }
      bytes.append(contentsOf: text[plainStart..<index])
      escape(byte)
      index += 1
      plainStart = index
    }
    bytes.append(contentsOf: text[plainStart...])
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func escape(_ byte: UInt8) {
    if byte >= 0x80 { return ByteText.appendEscape(of: byte, to: &bytes) }
    bytes.append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
    case UInt8(ascii: "\n"): bytes.append(UInt8(ascii: "n"))
    case UInt8(ascii: "\t"): bytes.append(UInt8(ascii: "t"))
    case UInt8(ascii: "\r"): bytes.append(UInt8(ascii: "r"))
    default:
      bytes.append(contentsOf: [UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")])
      bytes.append(contentsOf: Hex.digits(byte))
    }
  }
}

extension JSONWriter {
  /// Writes a member that is a number, or null.
  package mutating func member(_ name: StaticString, _ value: Int?) {
    key(name)
    if let value { int(Int64(value)) } else { null() }
  }

  /// Writes a member that is a string, or null.
  package mutating func member(_ name: StaticString, _ value: Bytes?) {
    key(name)
    if let value { string(value) } else { null() }
  }

  /// Writes a member that is an array of strings, or null.
  package mutating func member(_ name: StaticString, _ values: [Bytes]?) {
    key(name)
    guard let values else { return null() }
    array { json in for value in values { json.string(value) } }
  }

  /// Writes a member that is a boolean.
  package mutating func member(_ name: StaticString, _ value: Bool) {
    key(name)
    bool(value)
  }
}
