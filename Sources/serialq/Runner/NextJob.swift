import SerialPromises

/// The step that runs the first waiting job of the queue.
///
/// Which one that is is decided when the step's turn has come, so that jobs can be reordered and
/// cancelled until the last moment.
struct NextJob: Promisable {
  let runner: Runner

  var handler: Handler {
    { then in
      runner.step(then) { () throws(Failure) in
        guard let (job, lock) = try begin() else {
          return runner.finish(nil)
        }
        try run(job, lock)
        runner.addNext()
      }
    }
  }

  /// Chooses the job and writes down that it starts, before there is a process; nil when nothing
  /// waits or the runner was told to end, and then it is no longer the queue's runner.
  private func begin() throws(Failure) -> (Job, FileDescriptor)? {
    try runner.view.withLock { (view) throws(Failure) in
      let journal = view.journal
      return try journal.locked { (scope) throws(Failure) in
        try view.update()
        guard !runner.child.isToldToEnd, let job = view.queue.firstWaiting else {
          runner.release()
          return nil
        }
        let lock = try JobLock.take(job.id, runner.folder)
        try scope.append([
          .started(
            id: job.id, attempt: (job.run?.attempt ?? 0) + 1, at: Clock.now(),
            boot: Machine.boot())
        ])
        return (job, lock)
      }
    }
  }

  private func run(_ job: Job, _ lock: FileDescriptor) throws(Failure) {
    let begun = Clock.monotonic()
    let (ending, isCancelled) = try perform(job, lock)
    let duration = Clock.monotonic() - begun
    try runner.view.withLock { (view) throws(Failure) in
      let journal = view.journal
      try journal.locked { (scope) throws(Failure) in
        try view.update()
        // Without a next job, whose start is flushed, this is flushed itself.
        try scope.append(
          [
            .ended(
              id: job.id, at: Clock.now(), duration: duration, how: ending,
              cause: isCancelled ? .cancelled : .itself)
          ], flush: view.queue.firstWaiting == nil || runner.child.isToldToEnd)
      }
    }
    JobLock.remove(job.id, runner.folder)
  }

  /// Spawns the job and waits for its end.
  private func perform(_ job: Job, _ lock: FileDescriptor) throws(Failure) -> (
    Ending, isCancelled: Bool
  ) {
    let log = try attempt("making \(runner.folder.log(job.id).text)") { () throws(SystemError) in
      try FileDescriptor.open(
        runner.folder.log(job.id), [.readWrite, .append, .create, .truncate])
    }
    let process = JobProcess(
      command: job.command, environment: try environment(of: job), directory: job.directory,
      umask: UInt32(job.umask), output: log.raw, lock: lock.raw)
    switch withExtendedLifetime((log, lock), { process.start() }) {
    case .cannotRun(let code, let reason):
      let message = Bytes("serialq: \(reason)\n".utf8)
      try attempt("writing the log") { () throws(SystemError) in try log.writeAll(message) }
      return (.cannotRun(code.rawValue, reason: Bytes(reason.utf8)), false)
    case .running(let pid):
      let child = ChildProcess(pid: pid)
      runner.child.spawned(child)
      tellProcess(pid, of: job)
      try child.waitUntilEnded()
      // Before it is reaped: what is told to end from now on had ended by itself.
      let isCancelled = runner.child.isToldToEnd
      switch try runner.child.reap(child) {
      case .exited(let code): return (.exited(code), isCancelled)
      case .killed(let signal): return (.killed(signal), isCancelled)
      }
    }
  }

  /// Writes down the process, for whoever looks.
  ///
  /// Not flushed: it need not survive the machine, as the process does not. Should it fail, the job
  /// runs all the same, and must not be left alone for that.
  private func tellProcess(_ pid: Int32, of job: Job) {
    let journal = runner.view.withLock { $0.journal }
    try? journal.locked { (scope) throws(Failure) in
      try scope.append([.spawned(id: job.id, pid: pid)], flush: false)
    }
  }

  private func environment(of job: Job) throws(Failure) -> [Bytes] {
    let own = [Bytes("SERIALQ_JOB="), Bytes("SERIALQ_QUEUE=")]
    let stored = try Environments(runner.folder).load(job.environment)
    return stored.filter { variable in !own.contains { variable.starts(with: $0) } }
      + [own[0] + Bytes("\(job.id)".utf8), own[1] + runner.folder.name]
  }
}
