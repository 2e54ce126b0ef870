import SerialqQueue
import SerialqSystem

/// A runner in a process of its own, that nobody has to wait for.
package struct BackgroundRunner: Sendable {
  /// The word that makes this program one: followed by the queue's name, and started by nobody but
  /// itself, with SERIALQ_DIR set and the queue's runner lock as descriptor 63, which it holds.
  package let word: Bytes

  package init(word: Bytes) {
    self.word = word
  }

  /// Makes sure that a runner is at work; called under the journal's lock.
  ///
  /// The lock is taken here and handed over, so that from now on a runner is seen at work, and no
  /// second one is started while this one gets ready. A runner that is alive looks for jobs once
  /// more, under the journal's lock, before it gives its own up.
  package func ensure(_ folder: QueueFolder) throws(Failure) {
    let lock = try RunnerLock.open(folder)
    let isFree = try attempt("taking a lock") { () throws(SystemError) in try lock.tryLock() }
    if isFree { return try start(folder, lock) }
    if try RunnerLock.isHeld(folder) { return }
    // Somebody was only looking. The runner takes the lock itself.
    try start(folder, lock)
  }

  private func start(_ folder: QueueFolder, _ lock: FileDescriptor) throws(Failure) {
    let log = try attempt("opening \(folder.runnerLog.text)") { () throws(SystemError) in
      try FileDescriptor.open(folder.runnerLog, [.readWrite, .append, .create])
    }
    // The spool is what is above the queue. Nothing else of the caller's surroundings goes on: not
    // its directory, which could not be unmounted, nor its environment, where secrets may be.
    let spool = Bytes(folder.path.dropLast(folder.name.count + 1))
    let process = JobProcess(
      command: .arguments([Machine.program(), word, folder.name]),
      environment: [Bytes("SERIALQ_DIR=") + spool], directory: Bytes("/"), umask: 0o077,
      output: log.raw, lock: lock.raw)
    let started = withExtendedLifetime((log, lock)) { process.start() }
    if case .cannotRun(_, let reason) = started {
      let name = folder.name.text
      throw Failure(
        "queue \(name)", "no runner could be started: \(reason)",
        next: "Its jobs wait. Run them here: serialq run\(QueueName.option(for: name))")
    }
  }

  /// The lock that was handed over, if it is this queue's.
  package static func inheritedLock(_ folder: QueueFolder) -> FileDescriptor? {
    let raw = JobProcess.lockDescriptor
    guard fcntl(raw, F_SETFD, FD_CLOEXEC) == 0 else { return nil }
    let lock = FileDescriptor(owning: raw)
    guard let own = try? lock.status().identity,
      (try? FileSystem.status(of: folder.runnerLock))?.identity == own,
      (try? lock.tryLock()) == true
    else { return nil }
    return lock
  }
}
