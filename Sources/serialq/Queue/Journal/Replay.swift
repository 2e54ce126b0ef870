import SerialqSystem

/// Filters the lines of a journal: reports only complete lines and complete batches.
///
/// A pure state machine that takes every line in order: between batches, or inside one, whose lines
/// wait for its last. So a batch cut short by a crash has no effect. Damage costs only the damaged
/// line, which takes the place of one line of the batch, and so does a line that is not in its
/// place. A line that does not continue the batch proves that the batch was complete, because an
/// append truncates incomplete ones; the lines of both then wait for the last line of its own
/// batch.
///
/// A line that begins later than it should waits for the next one, which shows whether it was put
/// there, or lines before it are missing.
struct Replay {
  /// A reported item, in order.
  enum Item: Equatable {
    case record(Record)
    case damaged(DamagedLine)
  }

  /// The end of what counts; the next append truncates the rest.
  private(set) var committed: JournalPosition
  private var position: JournalPosition
  /// The items of the batch that is not complete.
  private var pending: [Item] = []
  /// The number of lines that it still lacks; 0 between batches.
  private var expected = 0
  /// The last line, if it begins later than it should.
  private var early: (record: Record, bytes: Bytes)?
  private var reader = JournalLine.Reader()
  /// The path for error messages.
  private let path: Bytes?

  /// Resumes where an earlier replay ended.
  init(of path: Bytes? = nil, from committed: JournalPosition = JournalPosition()) {
    self.path = path
    self.committed = committed
    position = committed
  }

  /// Takes the next line, without its newline; fails if this version does not write such lines.
  mutating func take(
    _ line: UnsafeBufferPointer<UInt8>, _ found: (Item) -> Void
  ) throws(Failure) {
    let whole = reader.read(line)
    if early != nil { takeEarly(before: whole, found) }
    position.lines += 1
    var start = 0
    repeat {
      var end = line.count
      // If the damage hit a newline, two lines look like one, and the second is intact.
      if case .damaged = whole { end = nextOpening(in: line, after: start) ?? end }
      let piece = UnsafeBufferPointer(rebasing: line[start..<end])
      let isLast = end == line.count
      let length = piece.count + (isLast ? 1 : 0)
      // The line as a whole failed its checksum, so its first piece is damaged.
      switch start == 0 ? whole : reader.read(piece) {
      case .record(let record) where record.byte > position.next && start == 0:
        early = (record, Bytes(line))
      case .record(let record) where record.byte >= position.least:
        take(record, length, found)
      case .record(let record): setAside(piece, .misplaced(next: record.next), length, found)
      case .damaged: setAside(piece, .changed, length, found)
      case .foreign(let isNewer): throw refused(isNewer)
      }
      // A reader that resumes here counts the line again.
      if !isLast, committed == position { committed.lines -= 1 }
      start = end
    } while start < line.count
  }

  /// Takes what follows the last newline if that is a whole line and a byte that was its newline.
  ///
  /// An append that was cut short leaves less.
  mutating func takeEnd(_ rest: UnsafeBufferPointer<UInt8>, _ found: (Item) -> Void) {
    if early != nil { takeEarly(before: nil, found) }
    guard JournalLine.isWhole(UnsafeBufferPointer(rebasing: rest.dropLast())) else { return }
    position.lines += 1
    setAside(rest, .changed, rest.count, found)
  }

  /// The failure for an intact line that this version does not understand.
  private func refused(_ isNewer: Bool) -> Failure {
    let (path, number) = (path ?? Bytes("the journal"), position.lines)
    guard !isNewer else {
      return Failure(
        path.text, "line \(number) was written by a newer version of serialq",
        next: "Nothing was changed. Use that version for this queue, or another queue.")
    }
    let journal = ShellQuote.word(path)
    let lock = ShellQuote.word(path.dropLast("journal".utf8.count) + Bytes("lock"))
    return Failure(
      path.text,
      "line \(number) is not damaged, but has members or values that this version does not write",
      next: """
        Nothing was changed. If another version wrote it, use that for this queue. If it was \
        changed by hand, remove it: flock \(lock) sed -i.bak \(number)d \(journal)
        """)
  }

  private mutating func take(_ record: Record, _ length: Int, _ found: (Item) -> Void) {
    if record.byte > position.next, position.next == position.least {
      report([], .afterGap)
    }
    position.append(length, lines: 0, at: record.byte)
    pending.append(.record(record.next < position.nextID ? raised(record) : record))
    endLine(expecting: record.more, found)
  }

  /// With an id that no line has used; not in place, which would copy each record.
  private func raised(_ record: Record) -> Record {
    var record = record
    record.next = position.nextID
    return record
  }

  /// Takes the line that waits: it does not count if the next one stands where it should.
  ///
  /// Without a next one it counts. An append then says that it follows this line, so a reader that
  /// has seen this end and one that reads all come to the same.
  private mutating func takeEarly(before next: JournalLine.Reading?, _ found: (Item) -> Void) {
    guard let (record, bytes) = early else { return }
    early = nil
    let length = bytes.count + 1
    if case .record(let next)? = next, next.byte == position.next {
      position.offset += Int64(length)
      position.nextID = max(position.nextID, record.next)
      report(bytes, .misplaced(next: record.next))
      endLine(expecting: expected, found)
    } else {
      take(record, length, found)
    }
  }

  /// Takes a line that does not count, in place of one line of the batch.
  private mutating func setAside(
    _ line: UnsafeBufferPointer<UInt8>, _ fault: DamagedLine.Fault, _ length: Int,
    _ found: (Item) -> Void
  ) {
    position.offset += Int64(length)
    position.next += length
    report(Bytes(line), fault)
    endLine(expecting: max(0, expected - 1), found)
  }

  private mutating func report(_ bytes: Bytes, _ fault: DamagedLine.Fault) {
    pending.append(.damaged(DamagedLine(number: position.lines, bytes: bytes, fault: fault)))
  }

  private mutating func endLine(expecting more: Int, _ found: (Item) -> Void) {
    // Grown step by step, a large batch would need twice the memory.
    if expected == 0, more > 0 { pending.reserveCapacity(min(more + 1, 1 << 17)) }
    expected = more
    if expected == 0 { commit(found) }
  }

  private mutating func commit(_ found: (Item) -> Void) {
    for item in pending { found(item) }
    pending.removeAll(keepingCapacity: pending.count == 1)
    (committed, expected) = (position, 0)
  }

  private func nextOpening(in line: UnsafeBufferPointer<UInt8>, after start: Int) -> Int? {
    let opening = JournalLine.opening
    guard line.count - opening.count > start else { return nil }
    return (start + 1...line.count - opening.count).first {
      line[$0] == opening[0] && line[$0...].starts(with: opening)
    }
  }
}

/// How far a journal was read.
struct JournalPosition: Equatable {
  /// The number of bytes.
  var offset: Int64 = 0
  /// The number of lines, including damaged ones.
  var lines = 0
  /// Where the last line that counts ends, if it began where it says.
  ///
  /// A line that says it began before is a copy, or was moved. What it says may be outdated, so it
  /// must not replace what the lines since then say.
  private(set) var least = 0
  /// Where the next line should begin: behind the lines since then that do not count.
  var next = 0
  /// Lower ids were in use when a line was written that stands too early.
  fileprivate(set) var nextID: JobID = 1

  /// Appends lines that say they begin there.
  mutating func append(_ length: Int, lines: Int, at byte: Int) {
    offset += Int64(length)
    self.lines += lines
    least = byte + length
    next = least
  }
}

/// A journal line that does not count, or before which lines are missing.
package struct DamagedLine: Equatable, Sendable {
  enum Fault: Equatable {
    /// Its checksum is wrong.
    case changed
    /// It is a copy of an earlier line, or was moved; ids below `next` were in use when it was
    /// written.
    case misplaced(next: JobID)
    /// It counts, but does not follow the line before it.
    case afterGap
  }

  /// Counts from 1, as `sed -n` does.
  var number: Int
  /// Empty for a line that counts.
  var bytes: Bytes
  var fault: Fault
}
