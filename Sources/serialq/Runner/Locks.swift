import SerialqQueue
import SerialqSystem

/// The lock that a runner holds for as long as it is at work: there is one runner a queue.
package enum RunnerLock {
  static func open(_ folder: QueueFolder) throws(Failure) -> FileDescriptor {
    try attempt("opening \(folder.runnerLock.text)") { () throws(SystemError) in
      try FileDescriptor.open(folder.runnerLock, [.readWrite, .append, .create])
    }
  }

  /// Writes into the file who holds its lock, and for which job of a runner that died it waits, if
  /// for any; true only while it is held.
  ///
  /// Only a hint: should it fail, the runner works all the same.
  static func sign(_ lock: FileDescriptor, orphan id: JobID? = nil) {
    let wait = id.map { "\(waits)\($0)" } ?? ""
    try? lock.truncate(to: 0)
    try? lock.writeAll(Bytes("\(Machine.processID())\(wait)\n".utf8))
  }

  /// The job of a runner that died for which the runner waits; true only while its lock is held.
  package static func orphan(_ folder: QueueFolder) throws(Failure) -> JobID? {
    try attempt("reading \(folder.runnerLock.text)") { () throws(SystemError) in
      let text = try FileDescriptor.openIfThere(folder.runnerLock, .read)?.readAll().text
      let words = text?.split(separator: "\n").first?.split(separator: " ") ?? []
      return words.count > 1 ? words.last.flatMap { JobID($0) } : nil
    }
  }

  private static let waits = " waits for job "

  /// Whether a runner is at work.
  package static func isHeld(_ folder: QueueFolder) throws(Failure) -> Bool {
    try isLocked(folder.runnerLock)
  }
}

/// The lock that a running job holds through a descriptor that it inherits, so that it is known to
/// be alive when its runner is not.
package enum JobLock {
  /// Makes and takes the lock of a job that is about to start.
  static func take(_ id: JobID, _ folder: QueueFolder) throws(Failure) -> FileDescriptor {
    try attempt("locking \(folder.jobLock(id).text)") { () throws(SystemError) in
      let file = try FileDescriptor.open(folder.jobLock(id), .lockFile)
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
  package static func isHeld(_ id: JobID, _ folder: QueueFolder) throws(Failure) -> Bool {
    try isLocked(folder.jobLock(id))
  }

  /// The process group of a job whose runner died; if that died before it wrote the number down,
  /// every group that has the job's lock.
  ///
  /// None if nobody in it has that lock: when its leader has ended, the number may be a stranger's
  /// by now.
  package static func groups(of job: Job, _ folder: QueueFolder) -> [Int32] {
    guard let lock = try? FileSystem.status(of: folder.jobLock(job.id))?.identity else { return [] }
    let holding = Machine.groups(holding: lock, as: JobProcess.lockDescriptor)
    guard let pid = job.run?.pid else { return holding?.sorted() ?? [] }
    return holding?.contains(pid) ?? true ? [pid] : []
  }

  /// Sends a signal to the processes of a job whose runner died.
  static func signal(_ job: Job, _ folder: QueueFolder, _ signal: Int32) {
    for group in groups(of: job, folder) { _ = try? ChildProcess(pid: group).signalGroup(signal) }
  }

  /// Whether the job's lock is held by nobody, or only by processes that have left its process group.
  ///
  /// May overlook one that is started this moment by one that ends, but never the job's own: that is
  /// no worse than after a job whose end was seen, which is the end of its first process.
  static func isGone(_ job: Job, _ folder: QueueFolder) -> Bool {
    job.run?.pid != nil && groups(of: job, folder).isEmpty
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
    // To read only, so that one can look where nothing can be written.
    guard let file = try FileDescriptor.openIfThere(path, .read) else { return false }
    return try !file.tryLockShared()
  }
}
