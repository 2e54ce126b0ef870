import SerialqSystem

/// Lines that were appended to the journal, under its lock.
package struct AppendedLines {
  /// Their place in the file.
  var start: Int64 = 0
  /// The place that they say they have.
  var byte = 0
  var bytes: Bytes = []
  var entries: [Entry] = []
  /// After the last line; see ``Record``.
  var next: JobID = 1
  var isPaused = false
}

/// Operations that require the journal's lock; see ``Journal/locked(_:)``.
package struct JournalScope {
  let journal: Journal
  /// The locked file; see ``UnfinishedWork``.
  let lock: FileDescriptor
  /// Opened after the lock was acquired: before that, compaction could replace the file.
  private var file: FileDescriptor?
  private var tail: Tail?
  /// What a reader has found there; see ``read(_:)``.
  private var known: Tail?

  init(_ journal: Journal, lock: FileDescriptor) {
    self.journal = journal
    self.lock = lock
  }

  /// The state at the end of the journal that an append needs.
  fileprivate struct Tail {
    /// The end of the last complete line or batch.
    var end: Int64
    /// The size of the file; larger than `end` after a crash during a write.
    var size: Int64
    /// What the next line says of its place: `end`, unless lines were removed or inserted before.
    var byte: Int
    var nextID: JobID
    var isPaused = false
  }

  package var folder: QueueFolder { journal.folder }

  /// Reads what is new, under the lock: the end of the journal need not be read again for an
  /// append.
  package mutating func read(_ reader: inout JournalReader) throws(Failure) {
    try reader.read()
    let end = reader.position.offset
    known = Tail(of: reader, size: end)
    // A shortage of descriptors must be met before anything is changed.
    _ = try openedFile()
  }

  /// The id of the next job; O(1) unless the end of the journal is damaged.
  package mutating func nextID() throws(Failure) -> JobID {
    try foundTail().nextID
  }

  /// Whether the queue is paused; O(1) as for ``nextID()``.
  package mutating func isPaused() throws(Failure) -> Bool {
    try foundTail().isPaused
  }

  /// Appends all lines or none, in one write; they are durable on return.
  ///
  /// With `flush` false they become durable at the next flush. On failure the journal is unchanged.
  /// Without lines, makes earlier ones durable. Returns what was written, for
  /// ``JournalReader/take(_:)``.
  @discardableResult
  package mutating func append(
    _ entries: [Entry], flush: Bool = true
  ) throws(Failure) -> AppendedLines {
    guard !entries.isEmpty else {
      // A command that finds nothing to do reports the result of another process, which may have
      // died before its flush.
      if flush { try self.flush() }
      return AppendedLines()
    }
    let tail = try foundTail()
    let file = try fileToWrite()
    var coder = LineCoder(reservingCapacity: 256 * entries.count, at: tail.byte)
    var next = tail.nextID
    var isPaused = tail.isPaused
    for (index, entry) in entries.enumerated() {
      if case .job(let id, _) = entry { next = max(next, id + 1) }
      if case .queue(let properties) = entry { isPaused = properties.pause != nil }
      let record = Record(
        entry: entry, next: next, more: entries.count - 1 - index, isPaused: isPaused)
      JournalLine.write(record, to: &coder)
    }
    let bytes = coder.json.bytes
    // No reader accepts a line with a higher id or place, so it would make the whole journal
    // unreadable.
    guard next <= JournalLine.lastNext, coder.position <= JournalLine.lastByte else {
      throw Failure(
        "queue \(folder.name)", "it has no ids left", next: "Use another queue.")
    }
    do throws(Failure) {
      // Before the first line is written: a reader of a line can rely on the folder entries.
      if tail.end == 0 { try flushFolders() }
      if tail.size > tail.end { try file.truncate(to: tail.end) }
      try journal.output.write(file, bytes)
      if flush { try makeDurable(file) }
    } catch {
      // If this fails too, the next append truncates the partial line.
      try? file.truncate(to: tail.end)
      // Otherwise a power loss could restore lines that were reported as failed.
      try? journal.output.flush(file)
      self.tail = nil
      throw error
    }
    let end = tail.end + Int64(bytes.count)
    self.tail = Tail(
      end: end, size: end, byte: coder.position, nextID: next, isPaused: isPaused)
    return AppendedLines(
      start: tail.end, byte: tail.byte, bytes: bytes, entries: entries, next: next,
      isPaused: isPaused)
  }

  /// Makes lines durable that any process appended without a flush.
  package mutating func flush() throws(Failure) {
    if let file = try openedFile() { try makeDurable(file) }
  }

  private func makeDurable(_ file: FileDescriptor) throws(Failure) {
    do throws(Failure) {
      try journal.output.flush(file)
    } catch {
      flushFailed()
      throw error
    }
  }

  /// Makes the next process that locks the journal rewrite it.
  ///
  /// After a failed flush Linux marks the pages clean, including earlier lines that were left to
  /// this flush. A second flush would succeed without writing them.
  func flushFailed() { leave(.rewriteJournal) }

  /// Discards the cached state, after the journal was replaced.
  mutating func forgetFile() {
    file = nil
    tail = nil
    known = nil
  }

  /// Flushes the entries of the journal and of its folder, without which neither is durable.
  private func flushFolders() throws(Failure) {
    try FileSystem.flush(folder: folder.path)
    try FileSystem.flush(folder: folder.path.appending(path: Bytes("..")))
  }

  private mutating func openedFile() throws(Failure) -> FileDescriptor? {
    if file == nil { file = try FileDescriptor.openIfThere(folder.journal, .growing) }
    return file
  }

  private mutating func fileToWrite() throws(Failure) -> FileDescriptor {
    if let file = try openedFile() { return file }
    let made = try FileDescriptor.open(folder.journal, .log)
    file = made
    return made
  }

  private mutating func foundTail() throws(Failure) -> Tail {
    if let tail { return tail }
    guard let file = try openedFile() else { return .empty }
    let size = try file.status().size
    let found = if let known, known.size == size { known } else { try tail(of: file, size: size) }
    tail = found
    return found
  }

  /// Reads only the last line if it is intact, in its place and ends its batch, else the whole
  /// journal.
  ///
  /// A copy of an earlier line would give out the ids since then again.
  private func tail(of file: FileDescriptor, size: Int64) throws(Failure) -> Tail {
    guard size > 0 else { return .empty }
    let newline = UInt8(ascii: "\n")
    var window: Int64 = 4096
    while true {
      let count = Int(min(window, size))
      var bytes = try file.bytes(from: size - Int64(count), count)
      guard bytes.last == newline else { break }
      bytes.removeLast()
      let start = bytes.lastIndex(of: newline).map { $0 + 1 }
      guard let start = start ?? (window >= size ? 0 : nil) else {
        window *= 8
        continue
      }
      var reader = JournalLine.Reader()
      let reading = bytes.withUnsafeBufferPointer {
        reader.read(UnsafeBufferPointer(rebasing: $0[start...]))
      }
      guard case .record(let record) = reading, record.more == 0,
        record.byte == Int(size) - count + start
      else { break }
      return Tail(
        end: size, size: size, byte: Int(size), nextID: record.next, isPaused: record.isPaused)
    }
    var reader = JournalReader(folder)
    try reader.read()
    return Tail(of: reader, size: size)
  }
}

extension JournalScope.Tail {
  fileprivate static let empty = Self(end: 0, size: 0, byte: 0, nextID: 1)

  fileprivate init(of reader: JournalReader, size: Int64) {
    let (position, queue) = (reader.position, reader.queue)
    self.init(
      end: position.offset, size: size, byte: position.next, nextID: queue.nextID,
      isPaused: queue.isPaused)
  }
}
