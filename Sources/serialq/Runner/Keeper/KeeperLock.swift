import SerialqQueue
import SerialqSystem

/// The lock that the keeper of a job's terminal holds while it serves the terminal.
///
/// Not the lock of the job: signals that end or suspend the job must not reach the process that
/// copies its last output. The file contains the process ID of the keeper.
package enum KeeperLock {
  /// Whether a keeper serves the terminal of the job.
  package static func isHeld(_ id: JobID, _ folder: QueueFolder) throws(Failure) -> Bool {
    try isLocked(folder.keeperLock(id))
  }

  /// Whether a running job has lost its terminal: its keeper was killed.
  package static func isLost(of job: Job, _ folder: QueueFolder) throws(Failure) -> Bool {
    // The keeper starts before the job, and otherwise ends after it.
    guard job.hadTerminal, job.running?.pid != nil, try !isHeld(job.id, folder) else {
      return false
    }
    return try JobLock.isHeld(job.id, folder)
  }

  /// Writes the content; errors are ignored, because it is only a hint.
  static func sign(_ path: Bytes) {
    do throws(Failure) {
      let file = try FileDescriptor.open(path, .growing)
      try file.truncate(to: 0)
      try file.writeAll(Bytes("\(Machine.processID())\n".utf8))
    } catch {
      return
    }
  }

  /// The process of the keeper, unless it has ended: its ID could be reused.
  static func keeper(
    _ id: JobID, _ folder: QueueFolder
  ) -> (pid: Int32, handle: ProcessHandle)? {
    let content = try? FileDescriptor.openIfThere(folder.keeperLock(id), .read)?.readAll()
    guard let pid = content.flatMap({ Int32(digits: $0.dropLast()) }), pid > 1 else { return nil }
    // Opened before the check.
    let process = ProcessHandle(pid)
    let file = LockFile(folder.keeperLock(id), inheritedAs: JobProcess.lockDescriptor)
    return file?.isHeld(by: pid) == true ? (pid, process) : nil
  }
}
