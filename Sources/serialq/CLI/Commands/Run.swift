import SerialPromises
import SerialqQueue
import SerialqRunner
import SerialqSystem

extension Session {
  /// `serialq run`: runs the queue in the foreground until it is empty, and prints the output.
  mutating func run(_ call: Invocation.Run) throws(Failure) -> ExitCode {
    let adding = try call.source.map { (source) throws(Failure) in
      try Adding(source, call.job)
    }
    let folder = try spool().makeQueue(named: Bytes(call.job.queue.utf8))
    let style = Follower.OutputStyle(
      isTalkative: messageTraits.isTerminal, sharesTerminal: traits.isTerminal,
      isAboveDisplay: traits.isLive)
    var follower = try Follower(folder, .queue, style)
    try refuseOwnQueue("run", follower.queue, named: follower.queueName)
    let wakeUp = try attempt("making a pipe") { () throws(SystemError) in try WakeUpPipe() }
    let messages = output
    let said = Locked<[String]>([])
    let isLive = traits.isLive
    let runner = try Runner(
      folder,
      say: { message in
        // Only the main thread writes while there is a live display, because it knows what is on
        // the screen.
        guard isLive else { return messages.message(message) }
        said.withLock { $0.append(message) }
        wakeUp.wake()
      }, wake: { wakeUp.wake() })
    // After everything else that can fail: a command that fails to start must not leave jobs in the
    // queue.
    if let ids = try adding?.append(to: folder, startsRunner: false).ids, messageTraits.isTerminal {
      let text = JobID.text(of: ids, separator: ", ")
      output.message(ids.count == 1 ? "queued job \(text)" : "queued jobs \(text)")
    }
    // Handled here, not between writes of output: if the reader has stopped reading, as a pager
    // does, the next write blocks forever.
    let signals = StopSignals { signal, count in
      if count == 1 {
        runner.stop()
      } else if runner.hasWork {
        runner.kill()
      } else {
        SignalListener.obey(signal)
      }
      wakeUp.wake()
    }
    runner.start()
    do throws(Failure) {
      try follow(runner, &follower, signals, wakeUp, said)
      if let failure = runner.failure { throw failure }
    } catch {
      guard adding != nil else { throw error }
      let option = QueueName.option(for: follower.queueName)
      throw error.adding(
        "What was to run is in the queue all the same; see: serialq status\(option)")
    }
    if let signal = signals.first { return tellStopped(by: signal, follower) }
    return tellResult(follower)
  }

  /// Prints output until the runner is done, or was stopped and has no running job.
  private mutating func follow(
    _ runner: Runner, _ follower: inout Follower, _ signals: StopSignals, _ wakeUp: WakeUpPipe,
    _ said: Locked<[String]>
  ) throws(Failure) {
    var display = traits.isLive ? RunDisplay(follower.queue, traits) { wakeUp.wake() } : nil
    defer { output.hide() }
    while true {
      wakeUp.drain()
      // Read before the queue, so that everything that the runner did before it was done is
      // printed.
      let isOver = runner.isDone || (signals.first != nil && !runner.hasWork)
      for message in said.withLock({ said in
        defer { said = [] }
        return said
      }) { output.message(message) }
      try follower.advance(&output)
      if isOver { return }
      try display?.draw(&follower, isStopping: signals.first != nil, on: &output)
      try follower.wait(
        orFor: [wakeUp.descriptor], timeoutMilliseconds: display?.timeoutMilliseconds)
    }
  }

  private func tellStopped(by signal: Int32, _ follower: Follower) -> ExitCode {
    let left = follower.queue.count(.waiting)
    let option = QueueName.option(for: follower.queueName)
    let rest =
      left == 0 ? "nothing waits" : "\(left) still waiting; go on with: serialq run\(option)"
    output.message("serialq: stopped by \(SignalName.of(signal)); \(rest)")
    return ExitCode(rawValue: 128 + signal)
  }

  /// Suggests the command that shows why a job failed.
  func tellWhy(_ id: JobID, in queue: String) {
    output.message("See what went wrong: serialq log\(QueueName.option(for: queue)) \(id)")
  }

  private mutating func tellResult(_ follower: Follower) -> ExitCode {
    let failed = follower.failed
    let isLeft = follower.queue.isPaused && follower.queue.count(.waiting) > 0
    if messageTraits.isTerminal || !failed.isEmpty {
      let total = follower.succeeded + failed.count
      output.message("serialq: \(follower.succeeded) of \(total) succeeded")
    }
    if let id = failed.first {
      tellWhy(id, in: follower.queueName)
    }
    guard !isLeft else {
      tellPaused(follower.queueName)
      return failed.isEmpty ? .cannot : .jobFailed
    }
    return failed.isEmpty ? .success : .jobFailed
  }
}
