import SerialqSystem

/// Why a text is not a flat object.
enum FlatObjectError: Error {
  case malformed
}

/// Parses the subset of JSON that journal lines use: one object without spaces, whose values are
/// strings, integers, booleans and arrays of strings.
///
/// Strict: anything else is an error. Members are read in the order of writing, so no lookup is
/// needed. Copies a value only when it is read. Reuses its storage, so that further lines allocate
/// nothing.
struct FlatObject {
  private enum Value {
    case string(Text)
    case int(Int)
    case bool(Bool)
    case strings(Range<Int>)
  }

  /// The range of a string, and whether its bytes contain no escapes.
  private struct Text {
    var range: Range<Int>
    var isPlain: Bool
  }

  private struct Member {
    var name: Range<Int>
    var value: Value
  }

  /// Valid only from `parse` until the caller frees the line; the caller reads all values before
  /// that.
  private var line = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
  private var position = 0
  private var members: [Member] = []
  private var elements: [Text] = []
  /// The number of members read so far.
  private var taken = 0

  /// Parses a line; values can be read until the line is freed.
  mutating func parse(_ text: UnsafeBufferPointer<UInt8>) throws(FlatObjectError) {
    line = text
    position = 0
    taken = 0
    members.removeAll(keepingCapacity: true)
    elements.removeAll(keepingCapacity: true)
    try expect("{")
    if !skip("}") {
      repeat {
        try expect("\"")
        let name = try string()
        guard name.isPlain else { throw .malformed }
        try expect(":")
        members.append(Member(name: name.range, value: try value()))
      } while skip(",")
      try expect("}")
    }
    guard position == line.count else { throw .malformed }
  }

  /// Whether every member was read; any other is unknown to this version.
  var isUsedUp: Bool { taken == members.count }

  mutating func int(_ name: StaticString) throws(FlatObjectError) -> Int {
    guard case .int(let value)? = take(name) else { throw .malformed }
    return value
  }

  /// Reads a number within limits, so that later arithmetic cannot overflow.
  mutating func number(
    _ name: StaticString, _ limits: ClosedRange<Int>
  ) throws(FlatObjectError) -> Int {
    let number = try int(name)
    guard limits ~= number else { throw .malformed }
    return number
  }

  /// Reads a member that is written only if true.
  mutating func flag(_ name: StaticString) throws(FlatObjectError) -> Bool {
    guard has(name) else { return false }
    guard case .bool(let value)? = take(name) else { throw .malformed }
    return value
  }

  mutating func bytes(_ name: StaticString) throws(FlatObjectError) -> Bytes {
    guard case .string(let text)? = take(name) else { throw .malformed }
    return decoded(text)
  }

  mutating func optionalBytes(_ name: StaticString) throws(FlatObjectError) -> Bytes? {
    has(name) ? try bytes(name) : nil
  }

  mutating func list(_ name: StaticString) throws(FlatObjectError) -> [Bytes] {
    guard case .strings(let range)? = take(name) else { throw .malformed }
    return elements[range].map { decoded($0) }
  }

  /// Reads a string that repeats on most lines; `shared` provides a common copy.
  mutating func bytes(
    _ name: StaticString,
    sharedIn shared: inout SharedBytes
  ) throws(FlatObjectError) -> Bytes {
    guard case .string(let text)? = take(name) else { throw .malformed }
    if !text.isPlain { return shared.copy(of: decoded(text)) }
    return shared.copy(of: UnsafeBufferPointer(rebasing: line[text.range]))
  }

  /// Reads a string without escapes, for words that serialq itself wrote.
  mutating func word(_ name: StaticString) throws(FlatObjectError) -> UnsafeBufferPointer<UInt8> {
    guard case .string(let text)? = take(name), text.isPlain else { throw .malformed }
    return UnsafeBufferPointer(rebasing: line[text.range])
  }

  /// Whether the next member has this name.
  func has(_ name: StaticString) -> Bool {
    guard taken < members.count else { return false }
    return UnsafeBufferPointer(rebasing: line[members[taken].name]).spells(name)
  }

  private mutating func take(_ name: StaticString) -> Value? {
    guard has(name) else { return nil }
    taken += 1
    return members[taken - 1].value
  }

  private func decoded(_ text: Text) -> Bytes {
    if text.isPlain { return Bytes(line[text.range]) }
    return unescaped(UnsafeBufferPointer(rebasing: line[text.range]))
  }
}

extension FlatObject {
  private mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard position < line.count, line[position] == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func expect(_ character: Unicode.Scalar) throws(FlatObjectError) {
    guard skip(character) else { throw .malformed }
  }

  private mutating func value() throws(FlatObjectError) -> Value {
    if skip("\"") { return .string(try string()) }
    if skip("[") { return .strings(try strings()) }
    if skip("t") { return .bool(try literal("rue", true)) }
    if skip("f") { return .bool(try literal("alse", false)) }
    return .int(try number())
  }

  private mutating func literal(
    _ rest: StaticString,
    _ value: Bool
  ) throws(FlatObjectError) -> Bool {
    let end = position + rest.utf8CodeUnitCount
    guard end <= line.count, rest.withUTF8Buffer({ line[position..<end].elementsEqual($0) })
    else { throw .malformed }
    position = end
    return value
  }

  private mutating func number() throws(FlatObjectError) -> Int {
    let isNegative = skip("-")
    let start = position
    var number = 0
    while position < line.count {
      let digit = line[position] &- UInt8(ascii: "0")
      guard digit < 10 else { break }
      let (tens, overflowsTens) = number.multipliedReportingOverflow(by: 10)
      // Accumulates a negative number: the smallest integer has no positive counterpart.
      let (next, overflows) = tens.subtractingReportingOverflow(Int(digit))
      guard !overflowsTens, !overflows else { throw .malformed }
      number = next
      position += 1
    }
    guard position > start else { throw .malformed }
    guard position == start + 1 || line[start] != UInt8(ascii: "0") else { throw .malformed }
    if isNegative { return number }
    guard number != Int.min else { throw .malformed }
    return -number
  }

  private mutating func strings() throws(FlatObjectError) -> Range<Int> {
    let start = elements.count
    if skip("]") { return start..<start }
    repeat {
      try expect("\"")
      elements.append(try string())
    } while skip(",")
    try expect("]")
    return start..<elements.count
  }

  /// Finds the end of a string after its opening quote.
  private mutating func string() throws(FlatObjectError) -> Text {
    let start = position
    var isPlain = true
    while position < line.count {
      let byte = line[position]
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        return Text(range: start..<(position - 1), isPlain: isPlain)
      case UInt8(ascii: "\\"):
        isPlain = false
        try skipEscape()
      case 0x20..<0x80: position += 1
      default:
        let length = byte < 0x20 ? 0 : UTF8Sequence.length(line, at: position)
        guard length > 0 else { throw .malformed }
        if length == 3, ByteText.isEscape(line, at: position) { isPlain = false }
        position += length
      }
    }
    throw .malformed
  }

  /// Accepts only the escapes that ``JSONWriter`` writes: any other line is not from serialq.
  private mutating func skipEscape() throws(FlatObjectError) {
    guard position + 1 < line.count else { throw .malformed }
    switch line[position + 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "n"), UInt8(ascii: "t"),
      UInt8(ascii: "r"):
      position += 2
    case UInt8(ascii: "u"):
      guard position + 6 <= line.count, line[position + 2] == UInt8(ascii: "0"),
        line[position + 3] == UInt8(ascii: "0"), 0x30...0x31 ~= line[position + 4],
        Hex.digit(line[position + 5]) != nil
      else { throw .malformed }
      position += 6
    default: throw .malformed
    }
  }
}

/// Decodes the escapes of a validated string.
private func unescaped(_ text: UnsafeBufferPointer<UInt8>) -> Bytes {
  var bytes: Bytes = []
  bytes.reserveCapacity(text.count)
  var index = 0
  while index < text.count {
    let byte = text[index]
    if byte == 0xEF, ByteText.isEscape(text, at: index) {
      bytes.append(ByteText.escapedByte(text, at: index))
      index += 3
    } else if byte == UInt8(ascii: "\\") {
      switch text[index + 1] {
      case UInt8(ascii: "n"): bytes.append(0x0A)
      case UInt8(ascii: "t"): bytes.append(0x09)
      case UInt8(ascii: "r"): bytes.append(0x0D)
      case UInt8(ascii: "u"):
        let low = Hex.digit(text[index + 5]) ?? 0
        bytes.append((text[index + 4] & 1) << 4 | low)
        index += 4
      default: bytes.append(text[index + 1])
      }
      index += 2
    } else {
      bytes.append(byte)
      index += 1
    }
  }
  return bytes
}
