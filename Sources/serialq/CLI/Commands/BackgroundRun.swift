import SerialqQueue
import SerialqRunner
import SerialqSystem

extension BackgroundRunner {
  /// Starts this program as a background runner.
  static let own = BackgroundRunner(word: Bytes("background-runner"))
}

extension Session {
  /// Runs a queue in the background until it is empty.
  func runInBackground(_ queue: String) throws(Failure) -> ExitCode {
    let folder = try spool().queue(named: queue)
    try StartedThread.require(Runner.threads)
    // Closing the terminal or logging out must not stop the jobs.
    signal(SIGHUP, SIG_IGN)
    let lock = BackgroundRunner.inheritedLock(folder)
    let wakeUp = try WakeUpPipe()
    let messages = output
    let runner = try Runner(
      folder, .background, lock: lock, say: { messages.message($0) }, wake: { wakeUp.wake() })
    let signals = try StopSignals { signal, count in
      count == 1 ? runner.stop(by: signal) : runner.kill()
    }
    // Discards the messages of an earlier runner.
    if lock != nil { _ = ftruncate(STDERR_FILENO, 0) }
    runner.start(heeding: signals)
    while !runner.isDone {
      _ = try waitForInput(on: [wakeUp.descriptor], until: nil)
      wakeUp.drain()
    }
    if let failure = runner.failure {
      // While the lock is still held: a process that waits for it reads the log as soon as it is
      // free, and the next runner empties the log.
      output.message(failure.description)
      return withExtendedLifetime(runner) { failure.code }
    }
    return signals.first.map { .ended(by: $0) } ?? .success
  }

  /// Serves the terminal of a running job until the job is over.
  func keepTerminal(of id: JobID, in queue: String) throws(Failure) -> ExitCode {
    var keeper = try Keeper(of: id, in: try spool().queue(named: queue))
    try keeper.run()
    return .success
  }
}
