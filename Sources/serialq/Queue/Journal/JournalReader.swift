import SerialqSystem

/// Keeps a ``Queue`` up to date with its journal, reading only what was appended.
///
/// Needs no lock: a line or a batch that is being written is not there yet. Notices when compaction
/// put another file in the journal's place, and when what it had read was taken back because it
/// could not be flushed.
package struct JournalReader {
  private let path: Bytes
  private var file: FileDescriptor?
  private var identity: FileStatus.Identity?
  private var offset: Int64 = 0
  /// Lines read of the file that is there now, damaged ones included.
  private(set) var lines = 0
  /// Damaged lines in the file that is there now.
  private(set) var damagedLines = 0
  /// The last bytes read; when the file has others there, it is not what was read.
  private var mark: Bytes = []

  package init(_ folder: QueueFolder) {
    path = folder.journal
  }

  /// What one look at the journal brought.
  package struct News: Equatable {
    /// The queue was built again from nothing, and every event told again.
    package internal(set) var reset = false
    package internal(set) var applied = 0
    /// Events that could not follow what was; see ``Queue``.
    var ignored = 0
    package internal(set) var damaged: [DamagedLine] = []
  }

  /// Applies to `queue` what is new, and tells each event after it was applied; O(what is new).
  ///
  /// Fails, with `queue` part of the way, on a line that a newer version wrote.
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

  /// The file that is at the path now; nil when there is none.
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
      // Asked of the open file: the path may have got another one meanwhile.
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
      // The checksum of the last line and a little more.
      let count = min(32, committed)
      try file.fill(&found, with: Int(count), from: committed - count)
      return found
    }
  }
}
