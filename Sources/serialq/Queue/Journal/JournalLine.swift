import SerialqSystem

/// One line of the journal: `{"v":1,"e":…,…,"next":18,"more":2,"sum":"9ae0daaf"}`.
///
/// The sum is over everything before `,"sum"`, and always stands last, so that a line is judged
/// before it is parsed.
enum JournalLine {
  /// Rises when a line of the format before would be read wrongly.
  static let version = 1
  /// Every line begins with this.
  ///
  /// No string can hold it, because quotes are escaped in strings.
  static let opening = Bytes("{\"v\":")

  /// The highest `next` that a line can hold.
  static let lastNext = JobID.valid.upperBound + 1

  private static let sumOpening = Bytes(",\"sum\":\"")
  private static let sumClosing = Bytes("\"}")

  /// What a line turned out to be.
  enum Reading {
    case record(Record)
    case damaged(StaticString)
    /// Whole, but of a version, of an event or with a member that is not known here.
    case newer
  }

  /// Writes a line, its end included.
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

  /// Whether the line is what once was written.
  private static func isWhole(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
    let start = line.count - sumOpening.count - 8 - sumClosing.count
    guard start > 0, line[start...].starts(with: sumOpening),
      line[(line.count - sumClosing.count)...].elementsEqual(sumClosing)
    else { return false }
    let digits = start + sumOpening.count
    guard let sum = Hex.number(line[digits..<digits + 8]) else { return false }
    return sum == CRC32.sum(UnsafeBufferPointer(rebasing: line[..<start]))
  }

  /// Reads lines one after another, with storage that is used again.
  struct Reader {
    private var object = FlatObject()
    private var shared = SharedBytes()

    /// Reads a line, given without its end.
    mutating func read(_ line: UnsafeBufferPointer<UInt8>) -> Reading {
      guard isWhole(line) else { return .damaged("its checksum is wrong") }
      // Whole, so if it cannot be understood it is not damage: another version wrote it on purpose.
      guard let record = try? record(line) else { return .newer }
      return .record(record)
    }

    private mutating func record(
      _ line: UnsafeBufferPointer<UInt8>
    ) throws(FlatObjectError) -> Record? {
      try object.parse(line)
      guard try object.int("v") == version,
        let event = try Event(from: &object, sharing: &shared)
      else { return nil }
      let next = try object.number("next", 1...lastNext)
      let more = object.has("more") ? try object.number("more", 1...Int(Int32.max)) : 0
      let isPaused = try object.flag("paused")
      _ = try object.word("sum")
      return object.isUsedUp
        ? Record(event: event, next: next, more: more, isPaused: isPaused) : nil
    }
  }
}
