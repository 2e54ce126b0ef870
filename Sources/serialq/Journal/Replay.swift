/// Turns the lines of a journal into what counts of them: whole events and whole batches.
///
/// A pure state machine, fed with every line in order:
/// - *between* batches → between (a line that stands alone, or is damaged) | inside (a line with
///   more to come);
/// - *inside* a batch → inside (the next line of it) | between (its last line).
///
/// Only what ends *between* counts, so a batch cut short by a crash is as if it had never been
/// written. Damage costs only the damaged line: it takes the place of one line of the batch. A line
/// that does not go on with the batch shows that the batch had been whole, because an appender cuts
/// off one that is not.
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
    let end = position + Int64(line.count + 1)
    switch reader.read(line) {
    case .record(let record): take(record, from: position, to: end, found)
    case .newer: throw newerVersion()
    case .damaged(let reason): try takePieces(of: line, reason, found)
    }
    position = end
  }

  /// The fault of a line that is whole and not understood.
  private func newerVersion() -> Failure {
    Failure(
      "the journal", "line \(lines) was written by a newer serialq than this one",
      next: "Use that version for this queue. Nothing was changed.")
  }

  private mutating func take(
    _ record: Record,
    from start: Int64,
    to end: Int64,
    _ found: (Item) -> Void
  ) {
    if expected > 0, record.more != expected - 1 {
      commit(at: start, lines: lines - 1, found)
    }
    expected = record.more
    if expected == 0, pending.isEmpty {
      // Nearly every line: nothing is kept for later.
      found(.record(record))
      committed = end
      committedLines = lines
      return
    }
    pending.append(.record(record))
    if expected == 0 { commit(at: end, lines: lines, found) }
  }

  /// Takes a damaged line apart: when the damage hit a line end, two lines look like one, and the
  /// second is whole.
  private mutating func takePieces(
    of line: UnsafeBufferPointer<UInt8>,
    _ reason: StaticString,
    _ found: (Item) -> Void
  ) throws(Failure) {
    var start = 0
    while start < line.count || start == 0 {
      let piece = start..<(nextOpening(in: line, after: start) ?? line.count)
      let isLast = piece.upperBound == line.count
      let end = position + Int64(piece.upperBound + (isLast ? 1 : 0))
      // The whole line is known to be damaged, and so is the first of its pieces.
      let reading =
        start == 0
        ? .damaged(reason) : reader.read(UnsafeBufferPointer(rebasing: line[piece]))
      switch reading {
      case .record(let record): take(record, from: position + Int64(start), to: end, found)
      case .newer: throw newerVersion()
      case .damaged(let reason):
        let damaged = DamagedLine(number: lines, reason: reason, bytes: Bytes(line[piece]))
        pending.append(.damaged(damaged))
        expected = max(0, expected - 1)
        if expected == 0 { commit(at: end, lines: lines, found) }
      }
      if isLast { return }
      start = piece.upperBound
    }
  }

  private func nextOpening(in line: UnsafeBufferPointer<UInt8>, after start: Int) -> Int? {
    let opening = JournalLine.opening
    guard line.count - opening.count > start else { return nil }
    return (start + 1...line.count - opening.count).first {
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
