import SerialqSystem

/// Filters the lines of a journal: reports only complete lines and complete batches.
///
/// A pure state machine that takes every line in order: between batches, or inside one, whose lines wait for
/// its last. So a batch cut short by a crash has no effect. Damage costs only the damaged line, which takes
/// the place of one line of the batch. A line that does not continue the batch proves that the batch was
/// complete: an append truncates incomplete ones.
struct Replay {
  /// A reported item, in order.
  enum Item: Equatable {
    case record(Record)
    case damaged(DamagedLine)
  }

  /// The number of bytes that count; the next append truncates the rest.
  private(set) var committed: Int64
  private(set) var committedLines: Int
  private var position: Int64
  private var lines: Int
  /// The items of the batch that is not complete.
  private var pending: [Item] = []
  /// The number of lines that it still lacks; 0 between batches.
  private var expected = 0
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

  /// Takes the next line, without its newline; fails if another version wrote it.
  mutating func take(
    _ line: UnsafeBufferPointer<UInt8>, _ found: (Item) -> Void
  ) throws(Failure) {
    lines += 1
    let whole = reader.read(line)
    var start = 0
    repeat {
      var end = line.count
      // If the damage hit a newline, two lines look like one, and the second is intact.
      if case .damaged = whole { end = nextOpening(in: line, after: start) ?? end }
      let piece = UnsafeBufferPointer(rebasing: line[start..<end])
      let isLast = end == line.count
      let (from, to) = (position + Int64(start), position + Int64(end + (isLast ? 1 : 0)))
      // The line as a whole failed its checksum, so its first piece is damaged.
      switch start == 0 ? whole : reader.read(piece) {
      case .record(let record): take(.record(record), more: record.more, from, to, found)
      case .damaged:
        take(.damaged(DamagedLine(number: lines, bytes: Bytes(piece))), more: nil, from, to, found)
      case .newer: throw refused()
      }
      // A reader that resumes here counts the line again.
      if !isLast, committed == to { committedLines = lines - 1 }
      start = end
    } while start < line.count
    position += Int64(line.count + 1)
  }

  /// Takes what follows the last newline if that is a whole line and a byte that was its newline.
  ///
  /// An append that was cut short leaves less.
  mutating func takeEnd(_ rest: UnsafeBufferPointer<UInt8>, _ found: (Item) -> Void) {
    guard JournalLine.isWhole(UnsafeBufferPointer(rebasing: rest.dropLast())) else { return }
    lines += 1
    let (start, end) = (position, position + Int64(rest.count))
    position = end
    take(.damaged(DamagedLine(number: lines, bytes: Bytes(rest))), more: nil, start, end, found)
  }

  /// The failure for an intact line that this version does not understand.
  private func refused() -> Failure {
    Failure(
      path?.text ?? "the journal", "line \(lines) was written by a newer version of serialq",
      next: "Nothing was changed. Use that version for this queue, or another queue.")
  }

  /// Takes a line that says how many of its batch follow; nil if it is damaged.
  private mutating func take(
    _ item: Item, more: Int?, _ start: Int64, _ end: Int64, _ found: (Item) -> Void
  ) {
    if let more, expected > 0, more != expected - 1 { commit(start, lines - 1, found) }
    expected = more ?? max(0, expected - 1)
    // Grown step by step, a large batch would need twice the memory.
    if pending.isEmpty, expected > 0 { pending.reserveCapacity(min(expected + 1, 1 << 17)) }
    pending.append(item)
    if expected == 0 { commit(end, lines, found) }
  }

  private mutating func commit(_ end: Int64, _ lines: Int, _ found: (Item) -> Void) {
    for item in pending { found(item) }
    pending.removeAll(keepingCapacity: pending.count == 1)
    (committed, committedLines, expected) = (end, lines, 0)
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
