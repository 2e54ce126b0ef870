extension Session {
  /// `serialq run`: runs the queue in the foreground until it is empty, and shows the output.
  mutating func run(_ call: Invocation.Run) throws(Failure) -> ExitCode {
    let adding = try call.source.map { (source) throws(Failure) in
      try Adding(source, call.job)
    }
    let folder = try spool().makeQueue(named: Bytes(call.job.queue.utf8))
    var follower = try Follower(folder, .queue, isTalkative: messageTraits.isTerminal)
    if let ids = try adding?.append(to: folder), messageTraits.isTerminal {
      output.message(
        ids.count == 1 ? "queued job \(ids.lowerBound)" : "queued jobs \(ids.text)")
    }
    let wakeUp = try attempt("making a pipe") { () throws(SystemError) in try WakeUpPipe() }
    let messages = output
    let runner = try Runner(
      folder, say: { messages.message($0) }, wake: { wakeUp.wake() })
    // Obeyed here and not between two pieces of output: who takes the output may have stopped
    // reading, as a pager does, and then the next piece takes for ever.
    let signals = StopSignals { signal, count in
      if count == 1 {
        runner.stop()
      } else if runner.hasWork {
        runner.child.kill()
      } else {
        HeardSignals.obey(signal)
      }
      wakeUp.wake()
    }
    runner.start()
    try follow(runner, &follower, signals, wakeUp)
    if let failure = runner.failure { throw failure }
    if let signal = signals.first { return tellStopped(by: signal, follower) }
    return tellResult(follower)
  }

  /// Prints until the runner is done, or was stopped and has nothing to wait for.
  private mutating func follow(
    _ runner: Runner, _ follower: inout Follower, _ signals: StopSignals, _ wakeUp: WakeUpPipe
  ) throws(Failure) {
    while true {
      wakeUp.drain()
      // Asked before looking: what the runner did before it was done is then there to be seen.
      let isOver = runner.isDone || (signals.first != nil && !runner.hasWork)
      try follower.advance(&output)
      if isOver { return }
      try follower.wait(orFor: [wakeUp.descriptor])
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

  private func tellResult(_ follower: Follower) -> ExitCode {
    let failed = follower.failed
    if messageTraits.isTerminal || !failed.isEmpty {
      let total = follower.succeeded + failed.count
      output.message("serialq: \(follower.succeeded) of \(total) succeeded")
    }
    if let id = failed.first {
      let option = QueueName.option(for: follower.queueName)
      output.message("See what went wrong: serialq log\(option) \(id)")
    }
    return failed.isEmpty ? .success : .jobFailed
  }
}
