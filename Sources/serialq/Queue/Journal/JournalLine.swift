import SerialqSystem

/// One line of the journal: `{"v":1,"run":17,…,"next":18,"more":2,"byte":4711,"sum":"9ae0daaf"}`.
///
/// The checksum covers everything before `,"sum"` and always comes last, so that it is verified
/// before the line is parsed.
enum JournalLine {
  /// Increased when this version would misread a line of the previous format.
  static let version = 1
  /// The start of every line.
  ///
  /// No string contains it, because quotes in strings are escaped.
  static let opening = Bytes("{\"v\":")

  /// The highest `next` that a line can contain.
  static let lastNext = JobID.valid.upperBound + 1

  /// The highest `byte` that a line can contain.
  static let lastByte = JobID.valid.upperBound

  private static let sumOpening = Bytes(",\"sum\":\"")
  private static let sumClosing = Bytes("\"}")

  /// The result of reading a line.
  enum Reading {
    case record(Record)
    /// Its checksum is wrong.
    case damaged
    /// Intact, but no line that this version writes.
    case foreign(isNewer: Bool)
  }

  /// Writes a line, including its newline.
  static func write(_ record: Record, to coder: inout LineCoder) {
    var record = record
    record.byte = coder.position
    coder.line { coder throws(FlatObjectError) in
      try code(&record, &coder)
    }
  }

  private static func code(
    _ record: inout Record, _ coder: inout LineCoder, reading isReading: Bool = false
  ) throws(FlatObjectError) {
    var version = version
    try coder.number("v", &version, Self.version...Self.version)
    record.entry = try Entry.coded(isReading ? nil : record.entry, by: &coder)
    try coder.number("next", &record.next, 1...lastNext)
    try coder.count("more", &record.more, upTo: Int(Int32.max))
    try coder.flag("paused", &record.isPaused)
    try coder.number("byte", &record.byte, 0...lastByte)
  }

  /// Whether the checksum matches.
  static func isWhole(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
    let start = line.count - sumOpening.count - 8 - sumClosing.count
    guard start > 0, line[start...].starts(with: sumOpening),
      line[(line.count - sumClosing.count)...].elementsEqual(sumClosing)
    else { return false }
    let digits = start + sumOpening.count
    guard let sum = Hex.number(line[digits..<digits + 8]) else { return false }
    return sum == CRC32.sum(UnsafeBufferPointer(rebasing: line[..<start]))
  }

  /// Reads lines in sequence and reuses its storage.
  struct Reader {
    private var coder = LineCoder.reader

    /// Reads a line without its newline.
    mutating func read(_ line: UnsafeBufferPointer<UInt8>) -> Reading {
      guard isWhole(line) else { return .damaged }
      // The checksum matches, so this is not damage: another version wrote the line, or a user did.
      do throws(FlatObjectError) {
        var record = Record(entry: .forgotten([]), next: 1, more: 0)
        try coder.begin(line)
        try code(&record, &coder, reading: true)
        try coder.end()
        return .record(record)
      } catch {
        var object = FlatObject()
        try? object.begin(line)
        let found = try? object.number("v", 0...Int.max)
        return .foreign(isNewer: found ?? 0 > JournalLine.version)
      }
    }
  }
}
