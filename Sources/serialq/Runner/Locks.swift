import SerialqQueue
import SerialqSystem

/// The lock that a runner holds while it is active: a queue has at most one runner.
package enum RunnerLock {
  package static func open(_ folder: QueueFolder) throws(Failure) -> FileDescriptor {
    try FileDescriptor.open(folder.runnerLock, .log)
  }

  /// Writes the holder's process ID to the lock file, and the orphaned job that it waits for.
  ///
  /// Valid only while the lock is held. Errors are ignored: the content is only a hint.
  static func sign(_ lock: FileDescriptor, orphan id: JobID? = nil) {
    let wait = id.map { "\(waits)\($0)" } ?? ""
    clear(lock)
    try? lock.writeAll(Bytes("\(Machine.processID())\(wait)\n".utf8))
  }

  /// Adds the process to which the lock is passed on; it may have signed already.
  static func sign(_ lock: FileDescriptor, for pid: Int32) {
    try? lock.writeAll(Bytes("\(pid)\n".utf8))
  }

  /// Removes the ID of an earlier holder, and wakes those that wait for its end.
  static func clear(_ lock: FileDescriptor) { try? lock.truncate(to: 0) }

  /// The process that holds the lock; nil if it has not signed yet, or the lock was released.
  package static func holder(_ folder: QueueFolder) throws(Failure) -> Int32? {
    try content(folder).first?.first.flatMap { Int32($0) }
  }

  /// The words of each line.
  private static func content(_ folder: QueueFolder) throws(Failure) -> [[Substring]] {
    let text = try FileDescriptor.openIfThere(folder.runnerLock, .read)?.readAll().text ?? ""
    return text.split(separator: "\n").map { $0.split(separator: " ") }
  }

  /// The orphaned job that the active runner waits for; valid only while the lock is held.
  package static func orphan(_ folder: QueueFolder) throws(Failure) -> JobID? {
    try content(folder).first { $0.count > 1 }?.last.flatMap { JobID($0) }
  }

  private static let waits = " waits for job "

  /// Whether a process has opened the file at this path, even if it was removed since.
  ///
  /// False without `proc(5)`.
  static func isOpen(by pid: Int32, _ folder: QueueFolder) -> Bool {
    !descriptors(of: pid, folder).isEmpty
  }

  /// The process that holds the lock of a file that was removed; nil without `proc(5)`.
  static func removedHolder(_ folder: QueueFolder) -> Int32? {
    let names = (try? FileSystem.names(in: Bytes("/proc"))) ?? []
    return names.compactMap { Int32($0.text) }.first { pid in
      guard pid != Machine.processID() else { return false }
      return descriptors(of: pid, folder).contains { name, isRemoved in
        guard isRemoved else { return false }
        // Not one that has only opened it, and may wait for the lock of this process.
        let info = try? FileDescriptor.openIfThere(
          Bytes("/proc/\(pid)/fdinfo/".utf8) + name, .read, followingLinks: true)?.readAll()
        return info?.text.contains("FLOCK") == true
      }
    }
  }

  /// The descriptors of this file in a process, and whether the file was removed since.
  private static func descriptors(
    of pid: Int32, _ folder: QueueFolder
  ) -> [(name: Bytes, isRemoved: Bool)] {
    guard let path = try? FileSystem.resolved(folder.path) else { return [] }
    let lock = path + folder.runnerLock.dropFirst(folder.path.count)
    let files = Bytes("/proc/\(pid)/fd".utf8)
    return ((try? FileSystem.names(in: files)) ?? []).compactMap { name in
      guard let target = FileSystem.target(of: files.appending(path: name)),
        target.starts(with: lock)
      else { return nil }
      return (name, isRemoved: target != lock)
    }
  }

  /// Whether a runner is active.
  package static func isHeld(_ folder: QueueFolder) throws(Failure) -> Bool {
    try isLocked(folder.runnerLock)
  }
}

/// The lock that a job's processes inherit, which shows that they are alive after the runner has
/// died.
package enum JobLock {
  /// Acquires the lock of a job that is about to start.
  ///
  /// Reuses the file of `spare`, an ended job, if no process holds the lock; else creates one. A
  /// file for each job would cost a third of a short job on ext4 without a journal, which searches
  /// the files removed in the last minutes when it creates one.
  static func take(
    _ id: JobID, spare: JobID? = nil, _ folder: QueueFolder
  ) throws(Failure) -> FileDescriptor {
    if let spare {
      if let lock = try? rename(spare, to: id, folder) { return lock }
      removeFile(of: spare, folder)
    }
    return try takeLock(folder.jobLock(id))
  }

  /// Acquires the lock of an ended job for another one; nil if it has no file, or a process that
  /// the job left behind holds the lock.
  private static func rename(
    _ ended: JobID, to id: JobID, _ folder: QueueFolder
  ) throws(Failure) -> FileDescriptor? {
    guard let lock = try existing(ended, folder), try lock.tryLock() else { return nil }
    // While it is held, so that no process of the ended job is ever taken for one of this job.
    try FileSystem.rename(folder.jobLock(ended), to: folder.jobLock(id))
    return lock
  }

  /// The lock file of a started job; nil if it was removed or never created.
  static func existing(_ id: JobID, _ folder: QueueFolder) throws(Failure) -> FileDescriptor? {
    try FileDescriptor.openIfThere(folder.jobLock(id), .readWrite)
  }

  /// Whether a process of the job is alive.
  package static func isHeld(_ id: JobID, _ folder: QueueFolder) throws(Failure) -> Bool {
    try isLocked(folder.jobLock(id))
  }

  /// The lock of a job whose file was removed, if the process of the job is known and alive.
  static func removed(_ job: Job, _ folder: QueueFolder) throws(Failure) -> FileDescriptor? {
    guard let pid = job.running?.pid, let file = file(folder.jobLock(job.id), of: pid),
      file.isHeld(by: pid)
    else { return nil }
    let path = Bytes("/proc/\(pid)/fd/\(JobProcess.lockDescriptor)".utf8)
    let lock = try FileDescriptor.openIfThere(path, .readWrite, followingLinks: true)
    // The ID may have been reused meanwhile.
    return try lock?.status().identity == file.identity ? lock : nil
  }

  /// The lock file of a job, to find the processes that hold its lock; nil if there is none.
  ///
  /// If it was removed, the one that the job's process holds.
  static func file(_ path: Bytes, of pid: Int32? = nil) -> LockFile? {
    LockFile(path, inheritedAs: JobProcess.lockDescriptor, by: pid)
  }

  /// Whether this process is one of the job's: it inherited the lock.
  package static func isHeldHere(_ id: JobID, _ folder: QueueFolder) -> Bool {
    file(folder.jobLock(id))?.isHeld(by: Machine.processID()) ?? false
  }

  /// The process groups of a job whose runner died: the recorded one, or else all that hold its
  /// lock.
  ///
  /// Empty if no process in the recorded group holds the lock: after the leader has ended, its
  /// number may be reused.
  package static func groups(of job: Job, _ folder: QueueFolder) throws(Failure) -> [Int32] {
    guard let file = file(folder.jobLock(job.id), of: job.running?.pid) else { return [] }
    let holders = try LockHolders.find(of: file)?.known
    guard let pid = job.running?.pid else {
      return Set(holders?.map(\.group) ?? []).filter { $0 > 1 }.sorted()
    }
    return holders?.contains { $0.group == pid } ?? true ? [pid] : []
  }

  /// Whether no process in the job's group holds its lock.
  ///
  /// Processes that left the group do not count. The scan can miss a process that an exiting one is
  /// forking, but never the group leader. A normal run does not wait for more: it ends with the
  /// leader.
  static func isGone(_ job: Job, _ folder: QueueFolder) -> Bool {
    // Not in a shortage, in which nothing is known.
    job.running?.pid != nil && (try? groups(of: job, folder)) == []
  }

  /// The live runner, not this one, that started the job.
  ///
  /// It reaps the process of the job only after it has recorded the end. After its death the parent
  /// is another process. Before it has recorded the process, only a removed lock shows that it is
  /// alive.
  static func runner(of job: Job, _ folder: QueueFolder) -> ProcessHandle? {
    guard let pid = job.running?.pid else {
      return RunnerLock.removedHolder(folder).map(ProcessHandle.init)
    }
    guard let parent = ProcessStatus.parent(of: pid), parent > 1,
      parent != Machine.processID()
    else { return nil }
    let runner = ProcessHandle(parent)
    // Again, because the ID may have been reused before it was opened.
    guard ProcessStatus.parent(of: pid) == parent, RunnerLock.isOpen(by: parent, folder) else {
      return nil
    }
    return runner
  }

  /// Waits until no process in the job's group holds its lock.
  ///
  /// Returns at once where processes cannot be waited for.
  static func waitUntilGone(_ job: Job, _ folder: QueueFolder) {
    guard let pid = job.running?.pid, let file = file(folder.jobLock(job.id), of: pid) else {
      return
    }
    func holders() -> [ProcessStatus] {
      let found = try? outlastingShortage { () throws(Failure) in try LockHolders.find(of: file) }
      return found?.known.filter { $0.group == pid } ?? []
    }
    while true {
      // Opened before the search: a process that ended and whose ID was reused is then not found.
      let before = holders()
      let handles = before.map { ProcessHandle($0.pid) }
      let now = holders()
      guard let first = now.first else { return }
      guard let index = before.firstIndex(of: first) else { continue }
      do throws(Failure) {
        guard try handles[index].waitForEnd(until: nil) != nil else { return }
      } catch {
        return
      }
    }
  }

  /// Removes the files of a finished job's terminal and launcher, and its lock file unless it is
  /// returned as a spare one for ``take(_:spare:_:)``.
  ///
  /// Ignores errors, because a remaining file is harmless.
  static func remove(_ job: Job, _ folder: QueueFolder) -> JobID? {
    if job.execution?.launch != nil { try? FileSystem.remove(folder.launcherResult(job.id)) }
    guard job.hadTerminal else { return job.id }
    // Its removal ends `attach` elsewhere.
    removeFile(of: job.id, folder)
    // Only what a killed keeper left: another file was not created by serialq.
    if (try? FileSystem.status(of: folder.socket(job.id)))?.kind == .socket {
      try? FileSystem.remove(folder.socket(job.id))
    }
    try? FileSystem.remove(folder.keeperLock(job.id))
    return nil
  }

  static func removeFile(of id: JobID, _ folder: QueueFolder) {
    try? FileSystem.remove(folder.jobLock(id))
  }
}

extension QueueFolder {
  /// Does `work` once more if a cleaner of old files has removed the folder of its files.
  func remakingSubfolders<Result>(_ work: () throws(Failure) -> Result) throws(Failure) -> Result {
    do throws(Failure) { return try work() } catch {
      guard error.number == ENOENT, try makeSubfolders() else { throw error }
      return try work()
    }
  }
}

/// Creates and acquires a lock that a child inherits.
func takeLock(_ path: Bytes) throws(Failure) -> FileDescriptor {
  let file = try FileDescriptor.open(path, .lock)
  // Held only by a process that an earlier attempt left behind. That process must not block the
  // queue, so a new file replaces the old one.
  if try file.tryLock() { return file }
  try FileSystem.remove(path)
  let own = try FileDescriptor.open(path, .new)
  _ = try own.tryLock()
  return own
}

/// Whether a process holds the lock of this file; creates nothing.
///
/// Acquires a shared lock briefly: probes do not block each other, and a runner can distinguish
/// them from another runner.
func isLocked(_ path: Bytes) throws(Failure) -> Bool {
  // Read-only, so that it works on a read-only file system.
  guard let file = try FileDescriptor.openIfThere(path, .check) else { return false }
  return try !file.tryLockShared()
}
