import SerialqSystem

/// Writes or reads the members of a line: a type names each of its properties once, for both.
///
/// A member is left out if its value is nil, false, 0 or empty, unless it has to be there. Members
/// are read in the order of writing. Reading fails on any other member or value; of two members
/// that exclude each other, which are never written, the first counts. Writing never fails.
struct LineCoder {
  let isReading: Bool
  private(set) var json: JSONWriter
  private var object = FlatObject()
  private var shared = SharedBytes()
  /// Where in the journal the bytes of `json` begin.
  private var start: Int

  /// Writes lines that begin there in the journal.
  init(reservingCapacity capacity: Int = 256, at start: Int = 0) {
    isReading = false
    self.start = start
    json = JSONWriter(reservingCapacity: capacity)
  }

  /// Reads lines in sequence and reuses its storage.
  static var reader: LineCoder { LineCoder(isReading: true) }

  private init(isReading: Bool) {
    self.isReading = isReading
    start = 0
    json = JSONWriter(reservingCapacity: 0)
  }

  /// Begins a line to read; its values can be read until it is freed.
  mutating func begin(_ line: UnsafeBufferPointer<UInt8>) throws(FlatObjectError) {
    try object.begin(line)
  }

  /// Fails unless every member before the checksum was read; any other is unknown to this version.
  mutating func end() throws(FlatObjectError) {
    _ = try object.word("sum")
    try object.end()
  }

  /// Writes a line with these members and their checksum.
  mutating func line(_ members: (inout LineCoder) throws(FlatObjectError) -> Void) {
    let start = json.bytes.count
    json.open()
    // Throws only when it reads.
    try? members(&self)
    json.member("sum", Hex.digits(json.checksum(from: start)))
    json.close()
    json.endLine()
  }

  /// Where in the journal the next line begins.
  var position: Int { start + json.bytes.count }

  /// Removes what was written but keeps the capacity.
  mutating func removeAll() {
    start = position
    json.removeAll()
  }

  /// Whether there are members to write, or to read: most lines have few, and each that is looked
  /// for costs time.
  var hasMore: Bool { !isReading || !object.has("next") }

  /// Whether the next member to read has this name.
  func has(_ name: StaticString) -> Bool { object.has(name) }
}

// MARK: - Members

extension LineCoder {
  mutating func flag(_ name: StaticString, _ value: inout Bool) throws(FlatObjectError) {
    if isReading { value = try object.flag(name) } else if value { json.member(name, true) }
  }

  /// A number within limits, so that later arithmetic cannot overflow; one that a change has moved
  /// beyond them is written as the nearest.
  mutating func number<Number: FixedWidthInteger>(
    _ name: StaticString, _ value: inout Number?, _ limits: ClosedRange<Int>
  ) throws(FlatObjectError) {
    if isReading {
      value = try object.number(name, limits).map { Number($0) }
    } else if let value {
      json.member(name, min(max(Int(value), limits.lowerBound), limits.upperBound))
    }
  }

  /// A number that has to be there.
  mutating func number<Number: FixedWidthInteger>(
    _ name: StaticString, _ value: inout Number, _ limits: ClosedRange<Int>
  ) throws(FlatObjectError) {
    var number: Number? = value
    try self.number(name, &number, limits)
    guard let number else { throw .malformed }
    value = number
  }

  /// A number that is left out if it is 0.
  ///
  /// The limit is over a century in seconds.
  mutating func count<Number: FixedWidthInteger>(
    _ name: StaticString, _ value: inout Number, upTo limit: Int = Int(UInt32.max)
  ) throws(FlatObjectError) {
    var number: Number? = value == 0 ? nil : value
    try self.number(name, &number, 1...limit)
    value = number ?? 0
  }

  mutating func id(_ name: StaticString, _ value: inout JobID) throws(FlatObjectError) {
    try number(name, &value, JobID.valid)
  }

  mutating func id(_ name: StaticString, _ value: inout JobID?) throws(FlatObjectError) {
    try number(name, &value, JobID.valid)
  }

  mutating func bytes(_ name: StaticString, _ value: inout Bytes?) throws(FlatObjectError) {
    if isReading {
      value = try object.bytes(name)
    } else if let value {
      json.member(name, value)
    }
  }

  /// A string that has to be there, and repeats on most lines: they share one copy.
  mutating func bytes(_ name: StaticString, _ value: inout Bytes) throws(FlatObjectError) {
    guard isReading else { return json.member(name, value) }
    guard let found = try object.bytes(name, sharedIn: &shared) else { throw .malformed }
    value = found
  }

  mutating func list(_ name: StaticString, _ value: inout [Bytes]?) throws(FlatObjectError) {
    if isReading {
      value = try object.list(name)
    } else if let value {
      json.member(name, value)
    }
  }

  /// A value that text describes, in one spelling only.
  mutating func text<Value>(
    _ name: StaticString, _ value: inout Value?, _ text: (Value) -> Bytes,
    _ parse: (Bytes) -> Value?
  ) throws(FlatObjectError) {
    var word = value.map(text)
    try bytes(name, &word)
    guard isReading else { return }
    value = word.flatMap(parse)
    guard value.map(text) == word else { throw .malformed }
  }

  mutating func time(_ name: StaticString, _ value: inout Timestamp?) throws(FlatObjectError) {
    guard isReading else {
      if let value { json.member(name, value.rfc3339) }
      return
    }
    let word = try object.word(name)
    value = word.flatMap { Timestamp(rfc3339: $0) }
    if word != nil, value == nil { throw .malformed }
  }

  mutating func time(_ name: StaticString, _ value: inout Timestamp) throws(FlatObjectError) {
    var time: Timestamp? = value
    try self.time(name, &time)
    guard let time else { throw .malformed }
    value = time
  }

  /// One of a few words, which has to be there.
  mutating func word<Value: RawRepresentable<String>>(
    _ name: StaticString, _ value: inout Value
  ) throws(FlatObjectError) {
    guard isReading else { return json.member(name, Bytes(value.rawValue.utf8)) }
    let word = try object.word(name).map { String(decoding: $0, as: UTF8.self) }
    guard let read = word.flatMap(Value.init) else { throw .malformed }
    value = read
  }

  mutating func ranges(
    _ name: StaticString, _ value: inout [ClosedRange<JobID>]
  ) throws(FlatObjectError) {
    var texts = value.isEmpty ? nil : value.map { Bytes($0.text.utf8) }
    try list(name, &texts)
    guard isReading else { return }
    value = (texts ?? []).compactMap { ClosedRange<JobID>($0) }
    guard texts ?? [] == value.map({ Bytes($0.text.utf8) }),
      zip(value, value.dropFirst()).allSatisfy({ $0.upperBound < $1.lowerBound })
    else { throw .malformed }
  }
}
