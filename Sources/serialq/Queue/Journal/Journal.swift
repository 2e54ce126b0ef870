import SerialqSystem

/// The append-only file of a queue's events: everything that changes it goes through its lock.
package struct Journal: Sendable {
  let folder: QueueFolder
  let output: JournalOutput

  package init(_ folder: QueueFolder, output: JournalOutput = .system) {
    self.folder = folder
    self.output = output
  }

  /// Does `work` while nobody else can append, waiting for the lock as long as it takes.
  ///
  /// What is decided inside holds against every other decision made inside: so an `add` that finds
  /// a runner and a runner that finds nothing to do cannot miss each other. Not to be nested: it
  /// would wait for itself.
  package func locked<Result>(
    _ work: (inout JournalScope) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let lock = try attempt("locking \(folder.lock.text)") { () throws(SystemError) in
      let file = try FileDescriptor.open(folder.lock, .lockFile)
      try file.lock()
      return file
    }
    // Also keeps the descriptor open until here: closing it would give the lock back.
    defer { lock.unlock() }
    var scope = JournalScope(self, lock: lock)
    try scope.finishWork()
    return try work(&scope)
  }

  /// Appends events in one batch and returns when they are durable.
  package func append(_ events: [Event]) throws(Failure) {
    try locked { (scope) throws(Failure) in try scope.append(events) }
  }
}

/// How the journal is written; tests put a full disk in its place.
package struct JournalOutput: Sendable {
  var write: @Sendable (FileDescriptor, Bytes) throws(SystemError) -> Void
  var flush: @Sendable (FileDescriptor) throws(SystemError) -> Void

  static let system = JournalOutput(
    write: { (file, bytes) throws(SystemError) in try file.writeAll(bytes) },
    flush: { (file) throws(SystemError) in try file.flushData() })
}
