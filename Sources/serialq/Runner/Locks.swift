/// The lock that a runner holds for as long as it is at work: there is one runner a queue.
enum RunnerLock {
  static func open(_ folder: QueueFolder) throws(Failure) -> FileDescriptor {
    try attempt("opening \(folder.runnerLock.text)") { () throws(SystemError) in
      try FileDescriptor.open(folder.runnerLock, [.readWrite, .append, .create])
    }
  }

  /// Tells those who look that the runner waits for the end of a job whose own runner died, or no
  /// longer does.
  ///
  /// Only a hint: should it fail, the runner waits all the same.
  static func tell(orphan id: JobID?, _ lock: FileDescriptor) {
    try? lock.truncate(to: 0)
    if let id { try? lock.writeAll(Bytes("\(id)\n".utf8)) }
  }

  /// The job of a runner that died for which the runner waits; true only while it is held.
  static func orphan(_ folder: QueueFolder) throws(Failure) -> JobID? {
    try attempt("reading \(folder.runnerLock.text)") { () throws(SystemError) in
      let text = try FileDescriptor.openIfThere(folder.runnerLock, .read)?.readAll()
      return text.flatMap { JobID($0.dropLast().text) }
    }
  }

  /// Whether a runner is at work.
  static func isHeld(_ folder: QueueFolder) throws(Failure) -> Bool {
    try isLocked(folder.runnerLock)
  }
}

/// The lock that a running job holds through a descriptor that it inherits, so that it is known to
/// be alive when its runner is not.
enum JobLock {
  /// Makes and takes the lock of a job that is about to start.
  static func take(_ id: JobID, _ folder: QueueFolder) throws(Failure) -> FileDescriptor {
    try attempt("locking \(folder.jobLock(id).text)") { () throws(SystemError) in
      let file = try FileDescriptor.open(folder.jobLock(id), [.readWrite, .create])
      // Nobody else can hold it, but for a process that an earlier attempt left behind; that one
      // does not hold up the queue, so a new file takes the place of the old.
      if try file.tryLock() { return file }
      try FileSystem.remove(folder.jobLock(id))
      let own = try FileDescriptor.open(folder.jobLock(id), [.readWrite, .create, .exclusive])
      _ = try own.tryLock()
      return own
    }
  }

  /// The lock file of a job that was started; nil when it is gone or was never made.
  static func existing(_ id: JobID, _ folder: QueueFolder) throws(Failure) -> FileDescriptor? {
    try attempt("opening \(folder.jobLock(id).text)") { () throws(SystemError) in
      try FileDescriptor.openIfThere(folder.jobLock(id), .readWrite)
    }
  }

  /// Whether a process of the job is alive.
  static func isHeld(_ id: JobID, _ folder: QueueFolder) throws(Failure) -> Bool {
    try isLocked(folder.jobLock(id))
  }

  /// Removes the lock file of a job that has ended; one that is left behind does no harm.
  static func remove(_ id: JobID, _ folder: QueueFolder) {
    try? FileSystem.remove(folder.jobLock(id))
  }
}

/// Whether somebody holds the lock of this file; makes nothing.
///
/// Takes the lock for a moment, but shared: so those who look are not in each other's way, and a
/// runner can tell them from another runner.
private func isLocked(_ path: Bytes) throws(Failure) -> Bool {
  try attempt("looking at \(path.text)") { () throws(SystemError) in
    guard let file = try FileDescriptor.openIfThere(path, .readWrite) else { return false }
    return try !file.tryLockShared()
  }
}
