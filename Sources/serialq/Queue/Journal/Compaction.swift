import SerialqSystem

extension JournalReader {
  /// Whether the journal is mostly history, or contains damaged lines.
  package var isWorthCompacting: Bool {
    let waiting = queue.count(.waiting)
    let needed = waiting + 2 * (queue.jobs.count - waiting)
    // Not a short one, which is read in milliseconds: compaction rewrites the whole file.
    return damagedLines > 0 || (lines > 10_000 && 2 * lines > 3 * needed)
  }
}

extension JournalScope {
  /// Rewrites the journal with the last line about each thing.
  ///
  /// First saves damaged lines to `damaged`. On failure the journal is unchanged; a crash leaves
  /// either the old or the new file. Returns the queue, and the damaged lines: the caller must
  /// report them, because later reads no longer find them.
  mutating func rewrite() throws(Failure) -> (Queue, [DamagedLine]) {
    var reader = JournalReader(journal.folder)
    let news = try reader.read()
    guard reader.lines > 0 else { return (reader.queue, []) }
    try putAside(news.damaged)
    // Also on failure: the new file may already be in place.
    forgetFile()
    try writeNewJournal(reader.queue)
    return (reader.queue, news.damaged)
  }

  private func putAside(_ damaged: [DamagedLine]) throws(Failure) {
    let damaged = damaged.filter { $0.fault != .afterGap }
    guard !damaged.isEmpty else { return }
    let folder = journal.folder
    let file = try FileDescriptor.open(folder.damaged, .log)
    try journal.output.write(file, Bytes(damaged.map { $0.bytes + Bytes("\n") }.joined()))
    try journal.output.flush(file)
    try FileSystem.flush(folder: folder.path)
  }

  private func writeNewJournal(_ queue: Queue) throws(Failure) {
    let folder = journal.folder
    try replace(folder.journal, by: folder.newJournal, in: folder.path) {
      (file) throws(Failure) in
      var coder = LineCoder(reservingCapacity: 1 << 20)
      try queue.forEachEntry { (entry) throws(Failure) in
        let record = Record(entry: entry, next: queue.nextID, more: 0, isPaused: queue.isPaused)
        JournalLine.write(record, to: &coder)
        if coder.json.bytes.count > 1 << 20 {
          try journal.output.write(file, coder.json.bytes)
          coder.removeAll()
        }
      }
      try journal.output.write(file, coder.json.bytes)
    }
  }
}

extension QueueFolder {
  /// Whether damaged lines are saved in ``damaged``.
  ///
  /// Opens the file, which rejects a fifo: printing one would block forever.
  package func hasDamagedLines() throws(Failure) -> Bool {
    try FileDescriptor.openIfThere(damaged, .check) != nil
  }
}
