import SerialqQueue
import SerialqSystem

/// The lock that the keeper of a job's terminal holds while it serves the terminal.
///
/// Not the lock of the job: signals that end or suspend the job must not reach the process that
/// copies its last output. The file contains the process ID of the keeper and the number of
/// attached terminals.
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
  static func sign(_ path: Bytes, attached: Int) {
    do throws(Failure) {
      let file = try FileDescriptor.open(path, .growing)
      try file.truncate(to: 0)
      try file.writeAll(Bytes("\(Machine.processID()) \(attached)\n".utf8))
    } catch {
      return
    }
  }

  /// The number of terminals that are attached to a running job.
  package static func attached(_ id: JobID, _ folder: QueueFolder) -> Int {
    guard (try? isHeld(id, folder)) == true else { return 0 }
    return content(id, folder)?.attached ?? 0
  }

  /// The process of the keeper, unless it has ended: its ID could be reused.
  static func keeper(
    _ id: JobID, _ folder: QueueFolder
  ) -> (pid: Int32, handle: ProcessHandle)? {
    guard let pid = content(id, folder)?.pid, pid > 1 else { return nil }
    // Opened before the check.
    let process = ProcessHandle(pid)
    let file = LockFile(folder.keeperLock(id), inheritedAs: JobProcess.lockDescriptor)
    return file?.isHeld(by: pid) == true ? (pid, process) : nil
  }

  private static func content(
    _ id: JobID, _ folder: QueueFolder
  ) -> (pid: Int32, attached: Int)? {
    let file = try? FileDescriptor.openIfThere(folder.keeperLock(id), .read)
    let words = (try? file?.readAll())?.text.split { $0 == " " || $0 == "\n" } ?? []
    guard words.count == 2, let pid = Int32(words[0]), let count = Int(words[1]) else { return nil }
    return (pid, count)
  }
}
