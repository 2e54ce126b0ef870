import SerialqQueue
import SerialqSystem

/// The lock that a runner holds while it is active: a queue has at most one runner.
package enum RunnerLock {
  static func open(_ folder: QueueFolder) throws(Failure) -> FileDescriptor {
    try FileDescriptor.open(folder.runnerLock, .log)
  }

  /// Writes the holder's process ID to the lock file, and the orphaned job that it waits for.
  ///
  /// Valid only while the lock is held. Errors are ignored: the content is only a hint.
  static func sign(_ lock: FileDescriptor, orphan id: JobID? = nil) {
    let wait = id.map { "\(waits)\($0)" } ?? ""
    try? lock.truncate(to: 0)
    try? lock.writeAll(Bytes("\(Machine.processID())\(wait)\n".utf8))
  }

  /// The orphaned job that the active runner waits for; valid only while the lock is held.
  package static func orphan(_ folder: QueueFolder) throws(Failure) -> JobID? {
    let text = try FileDescriptor.openIfThere(folder.runnerLock, .read)?.readAll().text
    let words = text?.split(separator: "\n").first?.split(separator: " ") ?? []
    return words.count > 1 ? words.last.flatMap { JobID($0) } : nil
  }

  private static let waits = " waits for job "

  /// Whether a runner is active.
  package static func isHeld(_ folder: QueueFolder) throws(Failure) -> Bool {
    try isLocked(folder.runnerLock)
  }
}

/// The lock that a job's processes inherit, which shows that they are alive after the runner has
/// died.
package enum JobLock {
  /// Creates and acquires the lock of a job that is about to start.
  static func take(_ id: JobID, _ folder: QueueFolder) throws(Failure) -> FileDescriptor {
    let file = try FileDescriptor.open(folder.jobLock(id), .lock)
    // Held only by a process that an earlier attempt left behind. That process must not block the
    // queue, so a new file replaces the old one.
    if try file.tryLock() { return file }
    try FileSystem.remove(folder.jobLock(id))
    let own = try FileDescriptor.open(folder.jobLock(id), .new)
    _ = try own.tryLock()
    return own
  }

  /// The lock file of a started job; nil if it was removed or never created.
  static func existing(_ id: JobID, _ folder: QueueFolder) throws(Failure) -> FileDescriptor? {
    try FileDescriptor.openIfThere(folder.jobLock(id), .readWrite)
  }

  /// Whether a process of the job is alive.
  package static func isHeld(_ id: JobID, _ folder: QueueFolder) throws(Failure) -> Bool {
    try isLocked(folder.jobLock(id))
  }

  /// The process groups of a job whose runner died: the recorded one, or else all that hold its
  /// lock.
  ///
  /// Empty if no process in the recorded group holds the lock: after the leader has ended, its
  /// number may be reused.
  package static func groups(of job: Job, _ folder: QueueFolder) -> [Int32] {
    guard let lock = try? FileSystem.status(of: folder.jobLock(job.id))?.identity else { return [] }
    let holding = Machine.groups(holding: lock, as: JobProcess.lockDescriptor)
    guard let pid = job.run?.pid else { return holding?.sorted() ?? [] }
    return holding?.contains(pid) ?? true ? [pid] : []
  }

  /// Sends a signal to the processes of an orphaned job.
  static func signal(_ job: Job, _ folder: QueueFolder, _ signal: Int32) {
    for group in groups(of: job, folder) { _ = try? ChildProcess(pid: group).signalGroup(signal) }
  }

  /// Whether no process in the job's group holds its lock.
  ///
  /// Processes that left the group do not count. The scan can miss a process that an exiting one is
  /// forking, but never the group leader. A normal run does not wait for more: it ends with the
  /// leader.
  static func isGone(_ job: Job, _ folder: QueueFolder) -> Bool {
    job.run?.pid != nil && groups(of: job, folder).isEmpty
  }

  /// Removes the lock file of a finished job; ignores errors, because a remaining file is harmless.
  static func remove(_ id: JobID, _ folder: QueueFolder) {
    try? FileSystem.remove(folder.jobLock(id))
  }
}

/// Whether a process holds the lock of this file; creates nothing.
///
/// Acquires a shared lock briefly: probes do not block each other, and a runner can distinguish
/// them from another runner.
private func isLocked(_ path: Bytes) throws(Failure) -> Bool {
  // Read-only, so that it works on a read-only file system.
  guard let file = try FileDescriptor.openIfThere(path, .check) else { return false }
  return try !file.tryLockShared()
}
