import SerialqSystem

/// Why a text is not a flat object.
enum FlatObjectError: Error {
  case malformed
}

/// Reads the subset of JSON that journal lines use: one object without spaces, whose values are
/// strings, integers, booleans and arrays of strings.
///
/// Strict: anything else is an error. Members are read in the order of writing, so no lookup is
/// needed, and each byte is read once. A member that has another name than the next one is nil.
/// Only values that are returned are copied.
struct FlatObject {
  /// The range of a string, and whether its bytes contain no escapes.
  private struct Text {
    var range: Range<Int>
    var isPlain: Bool
  }

  /// Valid only from `begin` until the caller frees the line; the caller reads all values before
  /// that.
  private var line = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
  /// The end of the last member read.
  private var position = 0

  /// Begins a line; its values can be read until it is freed.
  mutating func begin(_ text: UnsafeBufferPointer<UInt8>) throws(FlatObjectError) {
    line = text
    position = 0
    try expect("{")
  }

  /// Fails unless every member was read; any other is unknown to this version.
  mutating func end() throws(FlatObjectError) {
    try expect("}")
    guard position == line.count else { throw .malformed }
  }

  /// Reads a number within limits, so that later arithmetic cannot overflow.
  mutating func number(
    _ name: StaticString, _ limits: ClosedRange<Int>
  ) throws(FlatObjectError) -> Int? {
    guard find(name) else { return nil }
    let number = try number()
    guard limits ~= number else { throw .malformed }
    return number
  }

  /// Reads a member that is written only if true.
  mutating func flag(_ name: StaticString) throws(FlatObjectError) -> Bool {
    guard find(name) else { return false }
    let end = position + 4
    guard end <= line.count, UnsafeBufferPointer(rebasing: line[position..<end]).spells("true")
    else { throw .malformed }
    position = end
    return true
  }

  mutating func bytes(_ name: StaticString) throws(FlatObjectError) -> Bytes? {
    find(name) ? decoded(try string()) : nil
  }

  mutating func list(_ name: StaticString) throws(FlatObjectError) -> [Bytes]? {
    guard find(name) else { return nil }
    try expect("[")
    var list: [Bytes] = []
    if skip("]") { return list }
    repeat { list.append(decoded(try string())) } while skip(",")
    try expect("]")
    return list
  }

  /// Reads a string that repeats on most lines; `shared` provides a common copy.
  mutating func bytes(
    _ name: StaticString,
    sharedIn shared: inout SharedBytes
  ) throws(FlatObjectError) -> Bytes? {
    guard find(name) else { return nil }
    let text = try string()
    // With an escape, seldom.
    if !text.isPlain { return decoded(text) }
    return shared.copy(of: UnsafeBufferPointer(rebasing: line[text.range]))
  }

  /// Reads a string without escapes, for words that serialq itself wrote.
  mutating func word(_ name: StaticString) throws(FlatObjectError) -> UnsafeBufferPointer<UInt8>? {
    guard find(name) else { return nil }
    let text = try string()
    guard text.isPlain else { throw .malformed }
    return UnsafeBufferPointer(rebasing: line[text.range])
  }

  /// Whether the next member has this name.
  func has(_ name: StaticString) -> Bool { start(of: name) != nil }

  /// Moves to the value of the next member, if that has this name.
  private mutating func find(_ name: StaticString) -> Bool {
    guard let start = start(of: name) else { return false }
    position = start
    return true
  }

  /// The start of the value of the next member, if that has this name.
  private func start(of name: StaticString) -> Int? {
    // Behind the brace or a comma.
    let quote = position == 1 ? 1 : position + 1
    let colon = quote + name.utf8CodeUnitCount + 2
    guard colon < line.count, line[quote - 1] == UInt8(ascii: position == 1 ? "{" : ","),
      line[quote] == UInt8(ascii: "\""), line[colon - 1] == UInt8(ascii: "\""),
      line[colon] == UInt8(ascii: ":"),
      UnsafeBufferPointer(rebasing: line[(quote + 1)..<(colon - 1)]).spells(name)
    else { return nil }
    return colon + 1
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

  /// Finds the end of a string.
  private mutating func string() throws(FlatObjectError) -> Text {
    try expect("\"")
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
