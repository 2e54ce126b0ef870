import SerialqQueue
import SerialqSystem

extension Runner {
  /// How long the command that is run when a job has ended may take: the next job waits for it.
  private static let limit: Int64 = 60_000_000_000

  /// Runs the command that was set to be run when a job has ended, and waits for it.
  ///
  /// That it failed is written down with the job, and changes nothing else.
  func run(_ hook: Hook, for id: JobID) throws(Failure) {
    let job = try view.withLock { (view) throws(Failure) in
      try view.update()
      return view.queue.job(id)
    }
    // Forgotten at once, because few are kept; or to be tried again by itself, and not finished.
    guard let job, job.state.isOver else { return }
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
      return try supervise(ChildProcess(pid: pid), &termination, requests: { [] }).ending
    }
  }

  private func start(_ hook: Hook, _ job: Job) -> JobProcess.Started {
    let path = folder.hookLog
    do throws(Failure) {
      let log = try attempt("making \(path.text)") { () throws(SystemError) in
        try FileDescriptor.open(path, [.readWrite, .append, .create, .truncate])
      }
      let process = JobProcess(
        command: .shell(hook.line),
        environment: try Environments(folder).load(hook.environment, adding: variables(job)),
        directory: hook.directory, umask: UInt32(hook.umask), output: log.raw, lock: nil)
      return withExtendedLifetime(log) { process.start() }
    } catch {
      return .cannotRun(error.code, reason: error.sentence)
    }
  }

  /// The job, as the command finds it.
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
