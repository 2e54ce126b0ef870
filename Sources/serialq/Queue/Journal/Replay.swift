import SerialqSystem

/// Filters the lines of a journal: reports only complete events and complete batches.
///
/// A pure state machine that takes every line in order:
///
/// - *between* batches → between (a line that stands alone, or is damaged) | inside (a line with
///   more to come);
/// - *inside* a batch → inside (the next line of it) | replaying (its last line);
/// - *replaying* → replaying (a line of the batch, fed again) | between (the last one).
///
/// Only lines up to a state *between* count, so a batch cut short by a crash has no effect. Damage
/// costs only the damaged line, which takes the place of one line of the batch. A line that does
/// not continue the batch proves that the batch was complete: an append truncates incomplete ones.
///
/// Reads the lines of a batch twice instead of buffering them: there may be 100,000.
struct Replay {
  /// A reported item, in order.
  enum Item: Equatable {
    case record(Record)
    case damaged(DamagedLine)
  }

  /// The line to feed next.
  enum Next { case following, firstUncommitted }

  /// The number of bytes that count; the next append truncates the rest.
  private(set) var committed: Int64
  private(set) var committedLines: Int
  private var position: Int64
  private var lines: Int
  /// The number of lines that the batch at `committed` still lacks; 0 between batches.
  private var expected = 0
  /// Everything before this offset counts: the end of the batch that is being reported.
  private var confirmed: Int64 = 0
  private var reader = JournalLine.Reader()
  /// The path for error messages.
  private let path: Bytes?

  /// Resumes where an earlier replay ended.
  init(of path: Bytes? = nil, from committed: Int64 = 0, lines: Int = 0) {
    self.path = path
    self.committed = committed
    committedLines = lines
    position = committed
    self.lines = lines
  }

  /// Takes the next line, without its newline; fails if a newer version wrote it.
  ///
  /// Returns `firstUncommitted` when a batch proves to be complete: feed the line at ``committed``
  /// next.
  mutating func take(
    _ line: UnsafeBufferPointer<UInt8>,
    _ found: (Item) -> Void
  ) throws(Failure) -> Next {
    lines += 1
    let end = position + Int64(line.count + 1)
    let next: Next
    switch reader.read(line) {
    case .record(let record):
      next = take(.record(record), more: record.more, from: position, to: end, found)
    case .newer: throw newerVersion()
    case .damaged: next = try takePieces(of: line, found)
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

  /// The failure for an intact line that this version does not understand.
  private func newerVersion() -> Failure {
    Failure(
      path?.text ?? "the journal", "line \(lines) was written by a newer version of serialq",
      next: "Use that version for this queue. Nothing was changed.")
  }

  /// Takes a line that says how many of its batch follow; nil if it is damaged.
  private mutating func take(
    _ item: Item, more: Int?, from start: Int64, to end: Int64, _ found: (Item) -> Void
  ) -> Next {
    if start < confirmed || (expected == 0 && more ?? 0 == 0) {
      found(item)
      // Not in the middle of a batch: a reader would resume there.
      if end >= confirmed { (committed, committedLines) = (end, lines) }
      return .following
    }
    if let more, expected > 0, more != expected - 1 {
      confirmed = start
      return .firstUncommitted
    }
    expected = more ?? expected - 1
    if expected > 0 { return .following }
    confirmed = end
    return .firstUncommitted
  }

  /// Splits a damaged line: if the damage hit a newline, two lines look like one, and the second is
  /// intact.
  private mutating func takePieces(
    of line: UnsafeBufferPointer<UInt8>, _ found: (Item) -> Void
  ) throws(Failure) -> Next {
    var start = 0
    while true {
      let piece = start..<(nextOpening(in: line, after: start) ?? line.count)
      let isLast = piece.upperBound == line.count
      let offset = position + Int64(start)
      let end = position + Int64(piece.upperBound + (isLast ? 1 : 0))
      // The line as a whole failed its checksum, so its first piece is damaged.
      let next: Next
      switch start == 0 ? .damaged : reader.read(UnsafeBufferPointer(rebasing: line[piece])) {
      case .record(let record):
        next = take(.record(record), more: record.more, from: offset, to: end, found)
      case .newer: throw newerVersion()
      case .damaged:
        let damaged = DamagedLine(number: lines, bytes: Bytes(line[piece]))
        next = take(.damaged(damaged), more: nil, from: offset, to: end, found)
      }
      if isLast || next == .firstUncommitted { return next }
      // If the next piece starts a batch, it is fed again from there under the same line number.
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

/// A journal line that was changed after it was written.
package struct DamagedLine: Equatable, Sendable {
  /// Counts from 1, as `sed -n` does.
  var number: Int
  var bytes: Bytes
}
