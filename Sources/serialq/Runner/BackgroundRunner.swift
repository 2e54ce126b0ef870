import SerialqQueue
import SerialqSystem

/// A runner in a separate process, detached from the command that starts it.
package struct BackgroundRunner: Sendable {
  /// The argument that starts the program as a background runner; followed by the queue's name.
  ///
  /// Only serialq itself uses it. It sets SERIALQ_DIR and passes the locked runner lock of the
  /// queue as descriptor 63.
  package let word: Bytes

  package init(word: Bytes) {
    self.word = word
  }

  /// Ensures that a runner is active; requires the journal's lock.
  ///
  /// Acquires the runner lock here and passes it on, so that no other command starts a second
  /// runner before this one is ready. An active runner checks for jobs once more, under the
  /// journal's lock, before it releases the runner lock.
  package func ensure(_ folder: QueueFolder) throws(Failure) {
    let lock = try RunnerLock.open(folder)
    let isLocked = try lock.tryLock()
    if !isLocked, try RunnerLock.isHeld(folder) { return }
    if isLocked { RunnerLock.clear(lock) }
    // If another process only probed the lock, the new runner acquires it itself.
    let pid = try start(folder, lock)
    // Here too: a runner that fails early never signs, and `wait` waits for the end of its process.
    if isLocked { RunnerLock.sign(lock, for: pid) }
  }

  private func start(_ folder: QueueFolder, _ lock: FileDescriptor) throws(Failure) -> Int32 {
    let log = try FileDescriptor.open(folder.runnerLog, .log)
    let process = JobProcess(
      serialq: [word, Bytes(folder.name.utf8)], in: folder, .files(input: nil, output: log),
      lock: lock, blocking: SIGHUP)
    do throws(Failure) {
      return try process.start().pid
    } catch {
      let name = folder.name
      throw Failure(
        "queue \(name)", "no runner could be started: \(error.sentence)",
        next: "Its jobs are waiting. Run them here: \(advised("run", in: name))")
    }
  }

  /// The inherited lock, if it belongs to this queue.
  package static func inheritedLock(_ folder: QueueFolder) -> FileDescriptor? {
    let raw = JobProcess.lockDescriptor
    guard fcntl(raw, F_SETFD, FD_CLOEXEC) == 0 else { return nil }
    let lock = FileDescriptor(owning: raw, name: folder.runnerLock)
    guard let own = try? lock.status().identity,
      (try? FileSystem.status(of: folder.runnerLock))?.identity == own,
      (try? lock.tryLock()) == true
    else { return nil }
    return lock
  }
}
