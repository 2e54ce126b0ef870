import SerialPromises
import SerialqQueue
import SerialqSystem

/// The step that runs the first waiting job of the queue.
///
/// Chooses the job only when its turn has come, so that jobs can be reordered and cancelled until
/// then.
struct NextJob: Promisable {
  let runner: Runner

  var handler: Handler {
    { then in
      runner.step(then) { () throws(Failure) in
        guard let (job, log) = try begin() else {
          return runner.finish(nil)
        }
        try run(job, log)
        runner.addNext()
      }
    }
  }

  /// Chooses the job and records its start before a process exists.
  ///
  /// Returns nil if no job is waiting or the runner was stopped; the runner has then released its
  /// lock.
  private func begin() throws(Failure) -> (Job, FileDescriptor)? {
    while true {
      runner.supervision.drain()
      let due: Int64
      switch try choose() {
      case .started(let job, let log): return (job, log)
      case .nothing: return nil
      case .later(let time): due = time
      }
      try runner.supervision.waitForChange(until: due)
    }
  }

  private enum Choice {
    case started(Job, FileDescriptor)
    /// By the monotonic clock.
    case later(Int64)
    case nothing
  }

  private func choose() throws(Failure) -> Choice {
    var damaged: [DamagedLine] = []
    // After the lock is released: the reader of the messages may block.
    defer { for line in damaged { runner.say(line.message(in: runner.folder)) } }
    return try runner.decide { (view, scope) throws(Failure) in
      if view.reader.isWorthCompacting {
        // Compaction is optional, and the disk may be full.
        damaged = (try? scope.compact()) ?? []
        try view.reader.read()
      }
      while true {
        let clocks = Clock.reading()
        let now = clocks.date
        let date = view.delay.date(for: view.queue.firstWaiting, clocks)
        switch runner.supervision.isStopped ? .nothing : view.queue.next(now: date) {
        case .run(let job):
          try runner.jobLock.withLock { (lock) throws(Failure) in
            lock = try JobLock.take(job.id, runner.folder)
          }
          let attempt = (job.run?.attempt ?? 0) + 1
          // Before the start is recorded: if logs cannot be created, each runner would otherwise
          // record one more start, until all jobs of the queue are interrupted.
          let log = try makeLog(of: job, attempt: attempt)
          try scope.append([
            .started(
              id: job.id, attempt: attempt, at: now, boot: clocks.boot, uptime: clocks.monotonic)
          ])
          try view.reader.read()
          return .started(view.queue.job(job.id) ?? job, log)
        case .skip(let job, let because):
          try scope.append([.skipped(id: job.id, at: now, because: because)], flush: false)
          try view.reader.read()
        case .later:
          try scope.flush()
          return .later(view.delay.end ?? clocks.monotonic)
        case .nothing:
          // The end of the last job was left to this flush.
          try scope.flush()
          runner.release()
          return .nothing
        }
      }
    }
  }

  private func run(_ job: Job, _ log: FileDescriptor) throws(Failure) {
    let begun = Clock.monotonic()
    let (ending, termination) = try perform(job, log)
    let duration = Clock.monotonic() - begun
    let hook = runner.view.withLock { $0.queue.settings.onFinish }
    let now = Clock.now()
    let isInterrupted = runner.kind == .background && termination.isStopped
    try runner.record(of: job, flush: hook != nil) { isCancelRequested in
      // A cancellation was reported as accepted, so the job must not be retried, even if it had
      // ended or timed out before.
      let cause = isCancelRequested ? .cancelled : termination.cause
      if isInterrupted, !isCancelRequested {
        return (.interrupted(id: job.id, at: now), .interrupted)
      }
      let end = Event.ended(id: job.id, at: now, duration: duration, how: ending, cause: cause)
      return (end, ending.state(because: cause))
    }
    if let hook { try runner.run(hook, for: job.id) }
  }

  /// Spawns the job and waits for its end.
  private func perform(
    _ job: Job, _ log: FileDescriptor
  ) throws(Failure) -> (Ending, Termination) {
    let limit = Int64(job.limits.timeout)
    var termination = Termination(
      timeLimit: limit > 0 ? Clock.monotonic() + limit * 1_000_000_000 : nil)
    switch spawn(job, log) {
    case .cannotRun(let code, let reason):
      try log.writeAll(Bytes("serialq: \(reason)\n".utf8))
      return (.cannotRun(code.rawValue, reason: Bytes(reason.utf8)), termination)
    case .running(let pid):
      reportProcess(pid, of: job)
      makeNextLog()
      let ending = try runner.supervise(ChildProcess(pid: pid), &termination) {
        () throws(Failure) in
        try runner.requests(of: job.id)
      } rest: { () throws(Failure) in
        try JobLock.existing(job.id, runner.folder)
      }
      return (ending, termination)
    }
  }

  /// Spawns the job and closes the runner's descriptor of its lock, so that only the job holds it.
  private func spawn(_ job: Job, _ log: FileDescriptor) -> JobProcess.Started {
    runner.jobLock.withLock { lock in
      defer { lock = nil }
      let environment: [Bytes]
      do throws(Failure) {
        environment = try Environments(runner.folder).load(
          job.context.environment, adding: runner.folder.variables(of: job.id))
      } catch {
        // Fails only the job: a failing runner would leave one interrupted job after another.
        return .cannotRun(error.code, reason: error.sentence)
      }
      let process = JobProcess(
        command: job.command, environment: environment, directory: job.context.directory,
        umask: job.context.umask, output: log.raw, lock: lock?.raw)
      return withExtendedLifetime(log) { process.start() }
    }
  }

  /// Opens the log of an attempt: a new file after a manual retry, the same file after an automatic
  /// one.
  ///
  /// After a manual retry a process of the old attempt may still write to the old file. During
  /// automatic retries a follower may not have read the last output yet.
  private func makeLog(of job: Job, attempt: Int) throws(Failure) -> FileDescriptor {
    let path = runner.folder.log(job.id)
    if let run = job.run, run.used > 0 { return try FileDescriptor.open(path, .log) }
    if attempt > 1 { try FileSystem.remove(path) }
    return try FileDescriptor.open(path, .emptyLog)
  }

  /// Creates the log of the probable next job while this one runs.
  ///
  /// Creating a file is the slowest part of a start: this saves an eighth of the time of 1,000
  /// short jobs. Ignores errors and a wrong prediction: an empty log has no effect.
  private func makeNextLog() {
    let next = runner.view.withLock { $0.queue.firstWaiting }
    // `makeLog` decides whether to keep or replace an existing log.
    guard let next, next.run == nil else { return }
    _ = try? FileDescriptor.open(runner.folder.log(next.id), .log)
  }

  /// Records the process of the job for other commands.
  ///
  /// Not flushed: a process does not survive a reboot either. Ignores errors: a running job must
  /// not be left without supervision.
  private func reportProcess(_ pid: Int32, of job: Job) {
    let journal = runner.view.withLock { $0.journal }
    try? journal.locked { (scope) throws(Failure) in
      try scope.append([.spawned(id: job.id, pid: pid)], flush: false)
    }
  }
}

extension Runner {
  /// Waits for the end of a child, and for that of its process group if it was terminated.
  ///
  /// `rest` opens the lock that the remaining processes of the group hold.
  func supervise(
    _ child: ChildProcess, _ termination: inout Termination,
    requests: () throws(Failure) -> [Int32],
    rest: () throws(Failure) -> FileDescriptor? = { nil }
  ) throws(Failure) -> Ending {
    let send = { (signal: Int32) -> Void in _ = try? child.signalGroup(signal) }
    // `reap` reports the error.
    let ended = try supervision.end { try? child.waitUntilEnded() }
    try supervision.wait(for: ended, &termination, requests: requests, send: send)
    // Reaped only after its group is gone: otherwise a signal could reach a reused process group.
    if termination.cause != .itself, let lock = try rest() {
      let free = try supervision.end {
        try? lock.lock()
        lock.unlock()
      }
      try supervision.wait(
        for: free, &termination, canGiveUp: true, requests: requests, send: send)
    }
    return try child.reap()
  }
}
