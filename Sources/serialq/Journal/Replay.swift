/// Turns the lines of a journal into what counts of them: whole events and whole batches.
///
/// A pure state machine, fed with every line in order:
/// - *between* batches → between (a line that stands alone, or is damaged) | inside (a line with more to come);
/// - *inside* a batch → inside (the next line of it) | between (its last line).
///
/// Only what ends *between* counts, so a batch cut short by a crash is as if it had never been written. Damage costs
/// only the damaged line: it takes the place of one line of the batch. A line that does not go on with the batch
/// shows that the batch had been whole, because an appender cuts off one that is not.
struct Replay {
  /// What counts, in order.
  enum Item: Equatable {
    case record(Record)
    case damaged(DamagedLine)
  }

  /// How many bytes of the journal count; what follows is cut off before the next append.
  private(set) var committed: Int64
  private(set) var committedLines: Int
  private var position: Int64
  private var lines: Int
  private var pending: [Item] = []
  private var expected = 0
  private var reader = JournalLine.Reader()

  /// Begins where an earlier replay had got to.
  init(from committed: Int64 = 0, lines: Int = 0) {
    self.committed = committed
    committedLines = lines
    position = committed
    self.lines = lines
  }

  /// Takes the next line, given without its end; fails on one that a newer version wrote.
  mutating func take(
    _ line: UnsafeBufferPointer<UInt8>,
    _ found: (Item) -> Void
  ) throws(Failure) {
    lines += 1
    defer { position += Int64(line.count + 1) }
    switch reader.read(line) {
    case .record(let record): take(record, lineEnd: position + Int64(line.count + 1), found)
    case .newer: throw newerVersion()
    case .damaged(let reason): try takeDamaged(line, reason, found)
    }
  }

  /// The fault of a line that is whole and not understood.
  private func newerVersion() -> Failure {
    Failure(
      "the journal", "line \(lines) was written by a newer serialq than this one",
      next: "Use that version for this queue. Nothing was changed.")
  }

  private mutating func take(_ record: Record, lineEnd: Int64, _ found: (Item) -> Void) {
    if expected > 0, record.more != expected - 1 {
      commit(at: position, lines: lines - 1, found)
    }
    expected = record.more
    if expected == 0, pending.isEmpty {
      // Nearly every line: nothing is kept for later.
      found(.record(record))
      committed = lineEnd
      committedLines = lines
      return
    }
    pending.append(.record(record))
    if expected == 0 { commit(at: lineEnd, lines: lines, found) }
  }

  private mutating func takeDamaged(
    _ line: UnsafeBufferPointer<UInt8>,
    _ reason: StaticString,
    _ found: (Item) -> Void
  ) throws(Failure) {
    // When the damage hit a line end, two lines look like one: the second is whole, and easy to find.
    let next = nextOpening(in: line)
    pending.append(
      .damaged(
        DamagedLine(number: lines, reason: reason, bytes: Bytes(line[..<(next ?? line.count)]))))
    expected = max(0, expected - 1)
    guard let next else {
      if expected == 0 { commit(at: position + Int64(line.count + 1), lines: lines, found) }
      return
    }
    if expected == 0 { commit(at: position + Int64(next), lines: lines, found) }
    let rest = UnsafeBufferPointer(rebasing: line[next...])
    let start = position
    defer { position = start }
    position += Int64(next)
    switch reader.read(rest) {
    case .record(let record): take(record, lineEnd: position + Int64(rest.count + 1), found)
    case .newer: throw newerVersion()
    case .damaged(let reason): try takeDamaged(rest, reason, found)
    }
  }

  private func nextOpening(in line: UnsafeBufferPointer<UInt8>) -> Int? {
    let opening = JournalLine.opening
    guard line.count > opening.count else { return nil }
    return (1...(line.count - opening.count)).first {
      line[$0] == opening[0] && line[$0...].starts(with: opening)
    }
  }

  private mutating func commit(at offset: Int64, lines: Int, _ found: (Item) -> Void) {
    pending.forEach(found)
    pending.removeAll()
    expected = 0
    committed = offset
    committedLines = lines
  }
}

/// A line that was written once and is not what it was.
struct DamagedLine: Equatable, Sendable {
  /// Counted from 1, as `sed -n` does.
  var number: Int
  var reason: String
  var bytes: Bytes

  init(number: Int, reason: StaticString, bytes: Bytes) {
    self.number = number
    self.reason = reason.description
    self.bytes = bytes
  }
}
