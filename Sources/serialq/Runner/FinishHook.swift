import SerialqQueue
import SerialqSystem

extension Runner {
  /// The timeout of the on-finish command, which delays the next job.
  private static let limit: Int64 = 60_000_000_000

  /// Runs the on-finish command and waits for it.
  ///
  /// Records a failure with the job; it has no other effect.
  func run(_ hook: Hook, for id: JobID) throws(Failure) {
    // The job may be forgotten already, because few are kept, or be waiting for its next attempt.
    guard let job = try current({ $0.job(id) }), job.state.isOver else { return }
    let ending = try perform(hook, job)
    guard ending != .exited(0) else { return }
    try view.withLock { $0.journal }.append([.hookFailed(id: id, at: Clock.now(), how: ending)])
  }

  private func perform(_ hook: Hook, _ job: Job) throws(Failure) -> Ending {
    switch start(hook, job) {
    case .cannotRun(let code, let reason):
      return .cannotRun(code.rawValue, reason: Bytes(reason.utf8))
    case .running(let pid):
      var termination = Termination(
        timeLimit: Clock.monotonic() + Runner.limit, after: supervision.level)
      return try supervise(ChildProcess(pid: pid), &termination, requests: { [] })
    }
  }

  private func start(_ hook: Hook, _ job: Job) -> JobProcess.Started {
    do throws(Failure) {
      let log = try FileDescriptor.open(folder.hookLog, .emptyLog)
      let process = JobProcess(
        command: .shell(hook.line),
        environment: try Environments(folder).load(
          hook.context.environment, adding: variables(job)),
        directory: hook.context.directory, umask: hook.context.umask, output: log.raw, lock: nil)
      return withExtendedLifetime(log) { process.start() }
    } catch {
      return .cannotRun(error.code, reason: error.sentence)
    }
  }

  /// The environment variables that describe the job to the command.
  private func variables(_ job: Job) -> [Bytes] {
    func variable(_ name: StaticString, _ value: Bytes) -> Bytes { Bytes(name) + value }
    let seconds = (job.run?.duration ?? 0) / 1_000_000_000
    return folder.variables(of: job.id) + [
      variable("SERIALQ_STATE=", Bytes(job.state.name)),
      variable("SERIALQ_EXIT=", Bytes((job.exitCode.map { "\($0)" } ?? "").utf8)),
      variable("SERIALQ_SIGNAL=", job.signalName ?? []),
      variable("SERIALQ_ATTEMPT=", Bytes("\(job.run?.attempt ?? 0)".utf8)),
      variable("SERIALQ_SECONDS=", Bytes("\(seconds)".utf8)),
      variable("SERIALQ_LABEL=", job.label ?? []),
      variable("SERIALQ_COMMAND=", Bytes(ShellQuote.command(job.command).utf8)),
      variable("SERIALQ_LOG=", folder.log(job.id)),
    ]
  }
}
