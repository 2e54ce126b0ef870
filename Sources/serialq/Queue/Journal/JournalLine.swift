import SerialqSystem

/// One line of the journal: `{"v":1,"e":…,…,"next":18,"more":2,"sum":"9ae0daaf"}`.
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

  private static let sumOpening = Bytes(",\"sum\":\"")
  private static let sumClosing = Bytes("\"}")

  /// The result of reading a line.
  enum Reading {
    case record(Record)
    /// Its checksum is wrong.
    case damaged
    /// Intact, but with an unknown version, event or member.
    case newer
  }

  /// Writes a line, including its newline.
  static func write(_ record: Record, to json: inout JSONWriter) {
    let start = json.bytes.count
    json.object { json in
      json.member("v", version)
      record.event.encode(to: &json)
      json.member("next", record.next)
      if record.more > 0 { json.member("more", record.more) }
      if record.isPaused { json.member("paused", true) }
      let sum = json.checksum(from: start)
      json.member("sum", Hex.digits(sum))
    }
    json.endLine()
  }

  /// Whether the checksum matches.
  private static func isWhole(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
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
    private var object = FlatObject()
    private var shared = SharedBytes()

    /// Reads a line without its newline.
    mutating func read(_ line: UnsafeBufferPointer<UInt8>) -> Reading {
      guard isWhole(line) else { return .damaged }
      // The checksum matches, so this is not damage: a newer version wrote the line.
      do throws(FlatObjectError) {
        return .record(try record(line))
      } catch {
        return .newer
      }
    }

    private mutating func record(
      _ line: UnsafeBufferPointer<UInt8>
    ) throws(FlatObjectError) -> Record {
      try object.begin(line)
      guard try object.int("v") == version else { throw .malformed }
      let event = try Event(from: &object, sharing: &shared)
      let next = try object.number("next", 1...lastNext)
      let more = object.has("more") ? try object.number("more", 1...Int(Int32.max)) : 0
      let isPaused = try object.flag("paused")
      _ = try object.word("sum")
      try object.end()
      return Record(event: event, next: next, more: more, isPaused: isPaused)
    }
  }
}
