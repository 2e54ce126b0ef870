import SerialqSystem

/// Turns the lines of a journal into what counts of them: whole events and whole batches.
///
/// A pure state machine, fed with every line in order:
/// - *between* batches → between (a line that stands alone, or is damaged) | inside (a line with more
///   to come);
/// - *inside* a batch → inside (the next line of it) | telling (its last line);
/// - *telling* → telling (a line of the batch, fed again) | between (the last one).
///
/// Only what ends *between* counts, so a batch cut short by a crash is as if it had never been
/// written. Damage costs only the damaged line: it takes the place of one line of the batch. A line
/// that does not go on with the batch shows that the batch had been whole, because an appender cuts
/// off one that is not.
///
/// The lines of a batch are read twice instead of kept: there may be a hundred thousand.
struct Replay {
  /// What counts, in order.
  enum Item: Equatable {
    case record(Record)
    case damaged(DamagedLine)
  }

  /// Which line is to be fed next.
  enum Next { case following, firstUncommitted }

  /// How many bytes of the journal count; what follows is cut off before the next append.
  private(set) var committed: Int64
  private(set) var committedLines: Int
  private var position: Int64
  private var lines: Int
  /// How many lines of the batch at `committed` are still to come; 0 between batches.
  private var expected = 0
  /// Everything before this offset counts: the end of the batch that is being told.
  private var confirmed: Int64 = 0
  private var reader = JournalLine.Reader()
  /// What failures speak of.
  private let path: Bytes?

  /// Begins where an earlier replay had got to.
  init(of path: Bytes? = nil, from committed: Int64 = 0, lines: Int = 0) {
    self.path = path
    self.committed = committed
    committedLines = lines
    position = committed
    self.lines = lines
  }

  /// Takes the next line, given without its end; fails on one that a newer version wrote.
  ///
  /// Returns `firstUncommitted` when a batch has turned out to be whole: then the line that begins at
  /// ``committed`` is to be fed next.
  mutating func take(
    _ line: UnsafeBufferPointer<UInt8>,
    _ found: (Item) -> Void
  ) throws(Failure) -> Next {
    lines += 1
    let end = position + Int64(line.count + 1)
    let next: Next
    switch reader.read(line) {
    case .record(let record): next = take(record, from: position, to: end, found)
    case .newer: throw newerVersion()
    case .damaged(let reason): next = try takePieces(of: line, reason, found)
    }
    switch next {
    case .following: position = end
    case .firstUncommitted:
      position = committed
      lines = committedLines
      expected = 0
    }
    return next
  }

  /// The fault of a line that is whole and not understood.
  private func newerVersion() -> Failure {
    Failure(
      path?.text ?? "the journal", "line \(lines) was written by a newer serialq than this one",
      next: "Use that version for this queue. Nothing was changed.")
  }

  private mutating func take(
    _ record: Record,
    from start: Int64,
    to end: Int64,
    _ found: (Item) -> Void
  ) -> Next {
    if start < confirmed || (expected == 0 && record.more == 0) {
      tell(.record(record), to: end, found)
      return .following
    }
    if expected > 0, record.more != expected - 1 {
      confirmed = start
      return .firstUncommitted
    }
    expected = record.more
    if expected > 0 { return .following }
    confirmed = end
    return .firstUncommitted
  }

  private mutating func take(
    _ damaged: DamagedLine,
    from start: Int64,
    to end: Int64,
    _ found: (Item) -> Void
  ) -> Next {
    if start < confirmed || expected == 0 {
      tell(.damaged(damaged), to: end, found)
      return .following
    }
    expected -= 1
    if expected > 0 { return .following }
    confirmed = end
    return .firstUncommitted
  }

  private mutating func tell(_ item: Item, to end: Int64, _ found: (Item) -> Void) {
    found(item)
    // Not in the middle of a batch, or a reader would go on from there.
    guard end >= confirmed else { return }
    committed = end
    committedLines = lines
  }

  /// Takes a damaged line apart: when the damage hit a line end, two lines look like one, and the
  /// second is whole.
  private mutating func takePieces(
    of line: UnsafeBufferPointer<UInt8>,
    _ reason: StaticString,
    _ found: (Item) -> Void
  ) throws(Failure) -> Next {
    var start = 0
    while true {
      let piece = start..<(nextOpening(in: line, after: start) ?? line.count)
      let isLast = piece.upperBound == line.count
      let offset = position + Int64(start)
      let end = position + Int64(piece.upperBound + (isLast ? 1 : 0))
      // The whole line is known to be damaged, and so is the first of its pieces.
      let reading =
        start == 0
        ? .damaged(reason) : reader.read(UnsafeBufferPointer(rebasing: line[piece]))
      let next: Next
      switch reading {
      case .record(let record): next = take(record, from: offset, to: end, found)
      case .newer: throw newerVersion()
      case .damaged(let reason):
        let damaged = DamagedLine(number: lines, reason: reason, bytes: Bytes(line[piece]))
        next = take(damaged, from: offset, to: end, found)
      }
      if isLast || next == .firstUncommitted { return next }
      // Should a batch begin with the next piece, it is fed again from there, as the same line.
      if committed == end { committedLines = lines - 1 }
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
}

/// A line that was written once and is not what it was.
package struct DamagedLine: Equatable, Sendable {
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
