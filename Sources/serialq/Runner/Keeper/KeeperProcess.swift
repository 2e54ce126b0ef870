import SerialqQueue
import SerialqSystem

/// The process that holds the other end of a job's terminal; see ``Keeper``.
package enum KeeperProcess {
  /// The argument that starts the program as a keeper; followed by the names of the queue and the
  /// job.
  ///
  /// Only serialq itself uses it. It sets SERIALQ_DIR, and passes the other end of the terminal as
  /// descriptor 0, the log as 1 and 2, and the locked lock of the keeper as 63.
  package static let word = Bytes("terminal-keeper")

  /// The signal that reports the end of the job to its keeper.
  static let signal = SIGTERM

  /// Opens a terminal and starts its keeper; the terminal must be kept open until the job has it.
  static func start(
    for job: Job, in folder: QueueFolder, log: FileDescriptor
  ) throws(Failure) -> (terminal: PseudoTerminal, keeper: ChildProcess) {
    // The size before a terminal is attached.
    let size = job.terminal ?? .unknownSize
    let terminal = try PseudoTerminal(
      TerminalWindow(columns: Int(size.columns), rows: Int(size.rows)))
    let lock = try folder.remakingSubfolders { () throws(Failure) in
      try takeLock(folder.keeperLock(job.id))
    }
    let process = JobProcess(
      serialq: [word, Bytes(folder.name.utf8), Bytes("\(job.id)".utf8)], in: folder,
      .files(input: terminal.master, output: log), lock: lock, blocking: signal)
    return (terminal, try process.start())
  }

  /// Reports the end of the job to the keeper, waits until it has copied the last output, and
  /// returns how it ended.
  static func finish(_ keeper: ChildProcess) throws(Failure) -> Ending {
    // Not reaped, so the ID is its own.
    _ = kill(keeper.pid, signal)
    try keeper.waitUntilEnded(continuing: true)
    return try keeper.reap()
  }

  /// Ends the keeper of a job whose runner died and which is gone, and waits for it.
  static func finishOrphan(_ id: JobID, _ steps: RunnerSteps) throws(Failure) {
    guard let lock = try FileDescriptor.openIfThere(steps.folder.keeperLock(id), .readWrite)
    else { return }
    if try lock.tryLock() { return lock.unlock() }
    if let (pid, keeper) = KeeperLock.keeper(id, steps.folder) {
      _ = keeper.send(signal)
      // Only then: a debugger or sanitizer that is about to stop the process would miss the stop.
      if ProcessStatus.of(pid)?.isSuspended == true { _ = keeper.send(SIGCONT) }
    }
    let free = try steps.patiently { () throws(Failure) in try Notice(ofRelease: lock) }
    while try !steps.supervision.waitForChange(until: nil, orFor: free.descriptor)[0] {
      steps.supervision.drain()
    }
  }
}
