import SerialqRunner
import SerialqSystem

extension BackgroundRunner {
  /// This program, called as one.
  static let own = BackgroundRunner(word: Bytes("background-runner"))
}

extension Session {
  /// Runs a queue to its end, in the background.
  func runInBackground(_ queue: String) throws(Failure) -> ExitCode {
    guard let folder = try spool().existingQueue(named: Bytes(queue.utf8)) else {
      throw Failure(
        "queue \(queue)", "there is no such queue", next: "See all with: serialq queues")
    }
    // Who closes the terminal, or logs out, means no job.
    signal(SIGHUP, SIG_IGN)
    let lock = BackgroundRunner.inheritedLock(folder)
    let wakeUp = try attempt("making a pipe") { () throws(SystemError) in try WakeUpPipe() }
    let messages = output
    let runner = try Runner(
      folder, .background, lock: lock, say: { messages.message($0) }, wake: { wakeUp.wake() })
    let signals = StopSignals { _, count in count == 1 ? runner.stop() : runner.kill() }
    // What an earlier one had to say is no longer of interest.
    if lock != nil { emptyOwnLog() }
    runner.start()
    while !runner.isDone {
      _ = try attempt("waiting") { () throws(SystemError) in
        try waitForInput(on: [wakeUp.descriptor], timeoutMilliseconds: nil)
      }
      wakeUp.drain()
    }
    if let failure = runner.failure {
      // While it still holds its lock: who waits for that to be free reads at once what was said, and
      // the next runner empties the log.
      output.message(failure.description)
      return withExtendedLifetime(runner) { failure.code }
    }
    return signals.first.map { ExitCode(rawValue: 128 + $0) } ?? .success
  }

  private func emptyOwnLog() { _ = ftruncate(STDERR_FILENO, 0) }
}
