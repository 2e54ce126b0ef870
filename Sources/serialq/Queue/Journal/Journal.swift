import SerialqSystem

/// The append-only file of a queue; every change of the queue requires its lock.
package struct Journal: Sendable {
  let folder: QueueFolder
  let output: JournalOutput

  package init(_ folder: QueueFolder, output: JournalOutput = .system) {
    self.folder = folder
    self.output = output
  }

  /// Runs `work` with the journal locked; blocks until the lock is free.
  ///
  /// Decisions under the lock are consistent with each other. So an `add` that sees a live runner
  /// and a runner that sees an empty queue cannot miss each other. Not reentrant: a nested call
  /// deadlocks.
  @discardableResult
  package func locked<Result>(
    _ work: (inout JournalScope) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var (lock, status) = try acquire()
    var named = try FileSystem.status(of: folder.lock)
    // A cleaner of old files removed it while this waited.
    while named == nil {
      (lock, status) = try acquire()
      named = try FileSystem.status(of: folder.lock)
    }
    // Or the queue: the lock of one that was created in its place is another file.
    guard named?.identity == status.identity else { throw folder.removed }
    // Also keeps the descriptor alive until here: closing it would release the lock.
    defer { lock.unlock() }
    var scope = JournalScope(self, lock: lock)
    try scope.finishWork(recordedBy: status.size)
    return try work(&scope)
  }

  private func acquire() throws(Failure) -> (FileDescriptor, FileStatus) {
    // Creates the file: only the folder can be missing.
    let lock = try folder.whileItExists { () throws(Failure) in
      try FileDescriptor.open(folder.lock, .lock)
    }
    try lock.lock()
    return (lock, try lock.status())
  }

  /// Makes durable what `reader` has read and any process appended without a flush.
  package func flush(readBy reader: JournalReader) throws(Failure) {
    do throws(Failure) {
      // Together with the runner, which holds the lock for its own flush.
      if try reader.flush(by: output) { return }
    } catch {
      try locked { (scope) throws(Failure) in scope.flushFailed() }
      throw error
    }
    try locked { (scope) throws(Failure) in try scope.flush() }
  }
}

/// The functions that write the journal; tests replace them to simulate a full disk.
package struct JournalOutput: Sendable {
  var write: @Sendable (FileDescriptor, Bytes) throws(Failure) -> Void
  var flush: @Sendable (FileDescriptor) throws(Failure) -> Void

  static let system = JournalOutput(
    write: { (file, bytes) throws(Failure) in try file.writeAll(bytes) },
    flush: { (file) throws(Failure) in try file.flushData() })
}
