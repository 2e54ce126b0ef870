import SerialqSystem

/// A ``Queue`` that is kept up to date with its journal; reads only what was appended.
///
/// Needs no lock: lines and batches that are still being written are ignored. Detects when
/// compaction replaced the file, and when lines already read were truncated because their flush
/// failed.
package struct JournalReader {
  package internal(set) var queue = Queue()
  /// Grows whenever the queue changes, for what is derived from it.
  package private(set) var changes = 0
  package let folder: QueueFolder
  private var path: Bytes { folder.journal }
  private var file: FileDescriptor?
  private var identity: FileStatus.Identity?
  /// The size of the file when this opened it.
  private var sizeAtOpen: Int64 = 0
  /// The end of the last complete line or batch.
  private(set) var position = JournalPosition()
  /// Lines read from the current file, including damaged ones.
  var lines: Int { position.lines }
  /// Damaged lines in the current file, and places where lines are missing.
  private(set) var damagedLines = 0
  /// The last bytes read; a difference in the file shows that it was rewritten.
  private var mark: Bytes = []

  package init(_ folder: QueueFolder) {
    self.folder = folder
  }

  /// The result of one read.
  package struct News: Equatable {
    /// The queue before, if it was rebuilt from the start, and every line reported again.
    package internal(set) var replaced: Queue?
    package internal(set) var applied = 0
    package internal(set) var damaged: [DamagedLine] = []
  }

  /// Applies new lines to the queue and reports each one, with the job before it and the queue
  /// after it; O(new bytes).
  ///
  /// Fails, with the queue partially updated, on a line that a newer version wrote, and if the
  /// journal was removed since the last read: the queue would seem to have no jobs.
  @discardableResult
  package mutating func read(
    each: ((Entry, Job?, borrowing Queue) -> Void)? = nil
  ) throws(Failure) -> News {
    var news = News()
    guard let (file, size) = try openedFile(&news) else { return news }
    if try file.bytes(from: position.offset - Int64(mark.count), mark.count) != mark {
      startAgain(&news)
    }
    var replay = Replay(of: path, from: position)
    try replay.takeAll(of: file, upTo: size) { item in
      switch item {
      case .record(let record):
        let before = each == nil ? nil : record.entry.job.flatMap(queue.job)
        queue.apply(record)
        news.applied += 1
        each?(record.entry, before, queue)
      case .damaged(let line):
        queue.skipIDs(of: line)
        news.damaged.append(line)
      }
    }
    changes += news.applied + (news.replaced == nil ? 0 : 1)
    damagedLines += news.damaged.count
    let hasGrown = replay.committed.offset != position.offset
    position = replay.committed
    if hasGrown {
      let count = min(Int64(Self.markLength), position.offset)
      mark = try file.bytes(from: position.offset - count, Int(count))
    }
    return news
  }

  /// Covers the checksum of the last line and a few bytes more.
  private static let markLength = 32

  /// Applies lines that the caller has appended, without reading them from the file.
  ///
  /// Call it under the same lock as the last read, which has read all lines before these. Reads
  /// them if the file was replaced meanwhile.
  package mutating func take(_ lines: AppendedLines) throws(Failure) {
    guard file != nil, position.offset == lines.start, lines.bytes.count >= Self.markLength,
      let last = lines.entries.last
    else {
      try read()
      return
    }
    for entry in lines.entries.dropLast() { queue.apply(entry) }
    queue.apply(Record(entry: last, next: lines.next, more: 0, isPaused: lines.isPaused))
    changes += lines.entries.count
    position.append(lines.bytes.count, lines: lines.entries.count, at: lines.byte)
    mark = Bytes(lines.bytes.suffix(Self.markLength))
  }

  /// Makes what was read durable, without the lock; returns false if only a flush with it can.
  ///
  /// A flush through another descriptor that failed since this one was opened fails here too. None
  /// had failed before if a line was appended since: an append first finishes the work that a
  /// failed flush leaves, which replaces the file.
  func flush(by output: JournalOutput) throws(Failure) -> Bool {
    guard FileDescriptor.flushReportsEarlierFailures, let file, position.offset > sizeAtOpen else {
      return false
    }
    try output.flush(file)
    return true
  }

  /// The current file at the path, and its size; nil if there is none.
  private mutating func openedFile(
    _ news: inout News
  ) throws(Failure) -> (FileDescriptor, size: Int64)? {
    let found = try FileSystem.status(of: path)
    if let file, let found, found.identity == identity { return (file, found.size) }
    if file != nil, found == nil {
      throw Failure(
        "queue \(folder.name)", "its journal \(path.text) was removed",
        next: """
          Its jobs are lost; one that runs continues. See the other queues: \(advised("queues"))
          """)
    }
    if file != nil { startAgain(&news) }
    guard found != nil else { return nil }
    let file = try FileDescriptor.open(path, .read)
    self.file = file
    // The status of the open file: the path may name a different file by now.
    let status = try file.status()
    identity = status.identity
    sizeAtOpen = status.size
    return (file, status.size)
  }

  private mutating func startAgain(_ news: inout News) {
    news.replaced = queue
    queue = Queue()
    position = JournalPosition()
    damagedLines = 0
    mark = []
  }
}

extension QueueFolder {
  /// The present state of the queue.
  package func queue() throws(Failure) -> Queue {
    var reader = JournalReader(self)
    try reader.read()
    return reader.queue
  }
}
