import SerialqSystem

/// Keeps a ``Queue`` up to date with its journal; reads only what was appended.
///
/// Needs no lock: lines and batches that are still being written are ignored. Detects when
/// compaction replaced the file, and when lines already read were truncated because their flush
/// failed.
package struct JournalReader {
  private let path: Bytes
  private var file: FileDescriptor?
  private var identity: FileStatus.Identity?
  private var offset: Int64 = 0
  /// Lines read from the current file, including damaged ones.
  private(set) var lines = 0
  /// Damaged lines in the current file.
  private(set) var damagedLines = 0
  /// The last bytes read; a difference in the file shows that it was rewritten.
  private var mark: Bytes = []

  package init(_ folder: QueueFolder) {
    path = folder.journal
  }

  /// The result of one read.
  package struct News: Equatable {
    /// Whether the queue was rebuilt from the start, and every event reported again.
    package internal(set) var reset = false
    package internal(set) var applied = 0
    /// The number of events that did not apply; see ``Queue``.
    var ignored = 0
    package internal(set) var damaged: [DamagedLine] = []
  }

  /// Applies new events to `queue` and reports each one after it was applied; O(new bytes).
  ///
  /// Fails, with `queue` partially updated, on a line that a newer version wrote.
  package mutating func read(
    into queue: inout Queue,
    each: (Event) -> Void = { _ in }
  ) throws(Failure) -> News {
    var news = News()
    guard let file = try openedFile(&news) else {
      if news.reset { queue = Queue() }
      return news
    }
    if try !stillHasMark(file) { startAgain(&news) }
    if news.reset { queue = Queue() }
    var replay = Replay(of: path, from: offset, lines: lines)
    try replay.takeAll(of: file, path: path) { item in
      switch item {
      case .record(let record):
        if queue.apply(record) { news.applied += 1 } else { news.ignored += 1 }
        each(record.event)
      case .damaged(let line):
        queue.skipID()
        news.damaged.append(line)
      }
    }
    lines = replay.committedLines
    damagedLines += news.damaged.count
    if replay.committed != offset { try remember(replay.committed, in: file) }
    return news
  }

  /// Opens the current file at the path; nil if there is none.
  private mutating func openedFile(_ news: inout News) throws(Failure) -> FileDescriptor? {
    let path = path
    return try attempt("opening \(path.text)") { () throws(SystemError) in
      guard let found = try FileSystem.status(of: path) else {
        if file != nil { startAgain(&news) }
        file = nil
        return nil
      }
      if let file, found.identity == identity { return file }
      if file != nil { startAgain(&news) }
      let opened = try FileDescriptor.open(path, .read)
      file = opened
      // The status of the open file: the path may name a different file by now.
      identity = try opened.status().identity
      return opened
    }
  }

  private mutating func startAgain(_ news: inout News) {
    news.reset = true
    offset = 0
    lines = 0
    damagedLines = 0
    mark = []
  }

  private func stillHasMark(_ file: FileDescriptor) throws(Failure) -> Bool {
    try attempt("reading \(path.text)") { () throws(SystemError) in
      var found: Bytes = []
      try file.fill(&found, with: mark.count, from: offset - Int64(mark.count))
      return found == mark
    }
  }

  private mutating func remember(_ committed: Int64, in file: FileDescriptor) throws(Failure) {
    offset = committed
    mark = try attempt("reading \(path.text)") { () throws(SystemError) in
      var found: Bytes = []
      // Covers the checksum of the last line and a few bytes more.
      let count = min(32, committed)
      try file.fill(&found, with: Int(count), from: committed - count)
      return found
    }
  }
}
