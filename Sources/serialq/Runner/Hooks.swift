import SerialqQueue
import SerialqSystem

// The on-finish and the on-idle command.
extension RunnerSteps {
  /// The timeout of these commands, which delay the next job.
  private static let limit: Int64 = 60_000_000_000

  /// Runs the on-finish command and waits for it.
  ///
  /// Records a failure with the job; it has no other effect.
  func run(_ hook: Hook, for id: JobID) throws(Failure) {
    // The job may be forgotten already, because few are kept, or be waiting for its next attempt.
    guard let job = try current().job(id), job.state.isOver else { return }
    try run(hook, for: id, variables(job), log: folder.hookLog)
  }

  /// Runs the on-idle command and waits for it; records a failure with the queue.
  ///
  /// Not under the journal's lock, but under the runner's: a job that is added meanwhile
  /// relies on this runner.
  func run(_ hook: Hook, after results: Results, open: Int) throws(Failure) {
    let counts: [(StaticString, Int)] = [
      ("SERIALQ_SUCCEEDED=", results.succeeded), ("SERIALQ_FAILED=", results.failed),
      ("SERIALQ_SKIPPED=", results.skipped), ("SERIALQ_CANCELLED=", results.cancelled),
      ("SERIALQ_OPEN=", open),
    ]
    // Empty: otherwise it would name the job that set the command, if a job did.
    let variables = [Bytes("SERIALQ_JOB="), Bytes("SERIALQ_QUEUE=\(folder.name)".utf8)]
    try run(
      hook, for: nil, variables + counts.map { Bytes($0) + Bytes("\($1)".utf8) },
      log: folder.idleHookLog)
  }

  private func run(
    _ hook: Hook, for id: JobID?, _ variables: [Bytes], log path: Bytes
  ) throws(Failure) {
    let ending = try perform(hook, variables, log: path)
    guard ending != .exited(0) else { return }
    try decide { (scope) throws(Failure) in
      if let id {
        let status = queue.job(id)?.status.hookFailed(ending)
        if let status { try scope.append([.status(id, status)]) }
      } else {
        var properties = queue.properties
        properties.failOnIdle(ending)
        try scope.append([.queue(properties)])
      }
    }
  }

  private func perform(
    _ hook: Hook, _ variables: [Bytes], log path: Bytes
  ) throws(Failure) -> Ending {
    let child: ChildProcess
    do throws(Failure) {
      child = try patiently(unless: { supervision.isStopped }) { () throws(Failure) in
        try hook.start(
          in: folder, shell: queue.settings.shell, adding: variables,
          log: FileDescriptor.open(path, .emptyLog))
      }
    } catch {
      return Ending(error)
    }
    var termination = Termination(
      timeLimit: Clock.monotonic() + Self.limit, after: supervision.level)
    _ = try supervise(child, &termination)
    return try child.reap()
  }

  /// The environment variables that describe the job to the command.
  private func variables(_ job: Job) -> [Bytes] {
    let seconds = job.duration.map { "\($0 / 1_000_000_000)" } ?? ""
    let exit = job.exitCode.map { "\($0)" } ?? ""
    return folder.variables(describing: job) + [
      Bytes("SERIALQ_STATE=") + Bytes(job.state.name),
      Bytes("SERIALQ_EXIT=\(exit)".utf8),
      Bytes("SERIALQ_SIGNAL=") + (job.signalName ?? []),
      Bytes("SERIALQ_ATTEMPT=\(job.attempts)".utf8),
      Bytes("SERIALQ_SECONDS=\(seconds)".utf8),
      Bytes("SERIALQ_LOG=") + folder.log(job.id),
    ]
  }
}

extension QueueFolder {
  /// What each command that is run because of a job finds.
  func variables(describing job: Job) -> [Bytes] {
    variables(of: job.id) + [
      // It may be printed on a terminal.
      Bytes("SERIALQ_LABEL=") + Bytes(Visible.text(job.label ?? []).utf8),
      Bytes("SERIALQ_COMMAND=") + Bytes(ShellQuote.command(job.command).utf8),
    ]
  }
}
