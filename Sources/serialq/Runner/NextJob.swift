import SerialPromises
import SerialqQueue
import SerialqSystem

/// The step that runs the first waiting job of the queue.
///
/// Which one that is is decided when the step's turn has come, so that jobs can be reordered and
/// cancelled until the last moment.
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

  /// Chooses the job and writes down that it starts, before there is a process; nil when nothing
  /// waits or the runner was told to end, and then it is no longer the queue's runner.
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
    /// The job, and its log.
    case started(Job, FileDescriptor)
    /// By the monotonic clock.
    case later(Int64)
    case nothing
  }

  private func choose() throws(Failure) -> Choice {
    var damaged: [DamagedLine] = []
    // Unlocked: who takes the messages may be slow.
    defer { for line in damaged { runner.say(line.message(in: runner.folder)) } }
    return try runner.decide { (view, scope) throws(Failure) in
      if view.reader.isWorthCompacting(view.queue) {
        // The queue is as good without it, and the disk may be full.
        damaged = (try? scope.compact()) ?? []
        try view.update()
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
          // First, because where no log can be made no job can run: else each runner would write
          // down the start of one more, until all the queue was interrupted.
          let log = try makeLog(of: job, attempt: attempt)
          try scope.append([
            .started(
              id: job.id, attempt: attempt, at: now, boot: clocks.boot, uptime: clocks.monotonic)
          ])
          try view.update()
          return .started(view.queue.job(job.id) ?? job, log)
        case .skip(let job, let because):
          try scope.append([.skipped(id: job.id, at: now, because: because)], flush: false)
          try view.update()
        case .later:
          try scope.flush()
          return .later(view.delay.end ?? clocks.monotonic)
        case .nothing:
          // The end of the last job was left to the next start to flush.
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
    try runner.record(of: job, flush: hook != nil) { isAsked in
      // Somebody was told that the job is being ended: it is not to be tried again, even if it had
      // ended, or its time was over, by then.
      let cause = isAsked ? .cancelled : termination.cause
      if isInterrupted, !isAsked { return (.interrupted(id: job.id, at: now), .interrupted) }
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
      let message = Bytes("serialq: \(reason)\n".utf8)
      try attempt("writing the log") { () throws(SystemError) in try log.writeAll(message) }
      return (.cannotRun(code.rawValue, reason: Bytes(reason.utf8)), termination)
    case .running(let pid):
      tellProcess(pid, of: job)
      makeNextLog()
      let status = try runner.supervise(ChildProcess(pid: pid), &termination) {
        () throws(Failure) in
        try runner.requests(of: job.id)
      } rest: { () throws(Failure) in
        try JobLock.existing(job.id, runner.folder)
      }
      return (status.ending, termination)
    }
  }

  /// When this returns, only the job's own processes hold its lock.
  private func spawn(_ job: Job, _ log: FileDescriptor) -> JobProcess.Started {
    runner.jobLock.withLock { lock in
      defer { lock = nil }
      let environment: [Bytes]
      do throws(Failure) {
        environment = try Environments(runner.folder).load(
          job.environment, adding: runner.folder.variables(of: job.id))
      } catch {
        // Not a fault of the runner's: it would leave one interrupted job behind after another.
        return .cannotRun(error.code, reason: error.sentence)
      }
      let process = JobProcess(
        command: job.command, environment: environment, directory: job.directory,
        umask: UInt32(job.umask), output: log.raw, lock: lock?.raw)
      return withExtendedLifetime(log) { process.start() }
    }
  }

  /// A new file when somebody queued the job again, because a process that it left behind may still
  /// write to the old one; the same for attempts that follow by themselves, because whoever follows
  /// the job may not have read yet what the last one wrote.
  private func makeLog(of job: Job, attempt: Int) throws(Failure) -> FileDescriptor {
    let path = runner.folder.log(job.id)
    return try SerialqSystem.attempt("making \(path.text)") { () throws(SystemError) in
      if let run = job.run, run.used > 0 {
        return try FileDescriptor.open(path, [.readWrite, .append, .create])
      }
      if attempt > 1 { try FileSystem.remove(path) }
      return try FileDescriptor.open(path, [.readWrite, .append, .create, .truncate])
    }
  }

  /// Makes the log of the job that is likely to be next, while this one runs.
  ///
  /// A new file is what a file system takes longest for: this takes an eighth off the time of 1,000 short
  /// jobs. Should it fail, or another job be next, nothing is different: an empty log is as good as none.
  private func makeNextLog() {
    let next = runner.view.withLock { $0.queue.firstWaiting }
    // A log that is there already is `makeLog`'s to keep or to replace.
    guard let next, next.run == nil else { return }
    _ = try? FileDescriptor.open(runner.folder.log(next.id), [.readWrite, .append, .create])
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
}

extension Runner {
  /// Waits for the end of a process that this one started, and of its group if it was told to end.
  ///
  /// `rest` opens the lock that what is left of the process group holds.
  func supervise(
    _ child: ChildProcess, _ termination: inout Termination,
    requests: () throws(Failure) -> [Int32],
    rest: () throws(Failure) -> FileDescriptor? = { nil }
  ) throws(Failure) -> ExitStatus {
    let send = { (signal: Int32) -> Void in _ = try? child.signalGroup(signal) }
    // Should it fail, so does `reap`, which tells it.
    let ended = try supervision.end { try? child.waitUntilEnded() }
    try supervision.wait(for: ended, &termination, requests: requests, send: send)
    // Not reaped before its group is gone, or a signal could go to a stranger's.
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

extension ExitStatus {
  var ending: Ending {
    switch self {
    case .exited(let code): .exited(code)
    case .killed(let signal): .killed(signal)
    }
  }
}
