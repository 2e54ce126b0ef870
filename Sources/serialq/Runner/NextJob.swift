import SerialPromises
import SerialqQueue
import SerialqSystem

/// The step that runs the first waiting job of the queue.
///
/// Chooses the job only when its turn has come, so that jobs can be reordered and cancelled until
/// then.
struct NextJob: Promisable {
  let runner: Runner
  /// What was chosen when the last job ended; nil if nothing was.
  let choice: Choice?

  var handler: Handler {
    { then in
      runner.step(then) { () throws(Failure) in
        guard let (job, log) = try begin() else {
          return runner.finish(nil)
        }
        runner.addNext(try run(job, log))
      }
    }
  }

  /// Chooses the job and records its start before a process exists.
  ///
  /// Returns nil if no job is waiting or the runner was stopped; the runner has then released its
  /// lock.
  private func begin() throws(Failure) -> (Job, FileDescriptor)? {
    var chosen = choice
    while true {
      let next = if let chosen = chosen.take() { chosen } else { try choose() }
      let due: Int64
      switch next {
      case .idle(let hook, let results, let open):
        try runner.run(hook, after: results, open: open)
        continue
      case .started(let job, let log): return (job, log)
      case .nothing: return nil
      case .later(let time): due = time
      }
      runner.removeSpareLock()
      runner.removePrepared()
      try runner.supervision.waitForChange(until: due)
    }
  }

  enum Choice {
    /// The job, whose start is recorded, and its log.
    case started(Job, FileDescriptor)
    /// By the monotonic clock.
    case later(Int64)
    /// Run the on-idle command, and choose again: it may have added jobs.
    case idle(Hook, Results, open: Int)
    case nothing
  }

  private func choose() throws(Failure) -> Choice {
    var damaged: [DamagedLine] = []
    defer { report(damaged) }
    runner.supervision.drain()
    return try runner.decide { (view, scope) throws(Failure) in
      try choose(&view, &scope, &damaged)
    }
  }

  /// Call it after the journal's lock is released: the reader of the messages may block.
  private func report(_ damaged: [DamagedLine]) {
    for text in damaged.messages(in: runner.folder) { runner.say(text) }
  }

  private func choose(
    _ view: inout QueueView, _ scope: inout JournalScope, _ damaged: inout [DamagedLine]
  ) throws(Failure) -> Choice {
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
        let prepared = runner.takePrepared(for: job)
        try runner.jobLock.withLock { (lock) throws(Failure) in
          lock =
            if let prepared { prepared.lock } else {
              try JobLock.take(job.id, spare: runner.takeSpareLock(), runner.folder)
            }
        }
        let attempt = (job.run?.attempt ?? 0) + 1
        // Before the start is recorded: if logs cannot be created, each runner would otherwise
        // record one more start, until all jobs of the queue are interrupted.
        let log = if let prepared { prepared.log } else { try makeLog(of: job, attempt: attempt) }
        let launch = view.queue.settings.launcher.map { Launch(command: $0) }
        let launched = launch.map { [Event.launched(id: job.id, $0)] } ?? []
        let start = try scope.append(
          [
            .started(
              id: job.id, attempt: attempt, at: now, boot: clocks.boot, uptime: clocks.monotonic,
              hasTerminal: view.queue.givesTerminal(to: job))
          ] + launched)
        try view.reader.take(start)
        return .started(view.queue.job(job.id) ?? job, log)
      case .skip(let job, let because):
        try scope.append([.skipped(id: job.id, at: now, because: because)], flush: false)
        try view.reader.read()
      case .later:
        try scope.flush()
        return .later(view.delay.end ?? clocks.monotonic)
      case .nothing:
        if !runner.supervision.isStopped, view.queue.isIdleHookDue,
          let hook = view.queue.settings.onIdle
        {
          let (results, open) = (view.queue.results, view.queue.openCount)
          // Before it starts, as for a job: no other runner may run it again.
          try scope.append([.counted(Results(), at: now)])
          try view.reader.read()
          return .idle(hook, results, open: open)
        }
        // The end of the last job was left to this flush.
        try scope.flush()
        runner.release()
        return .nothing
      }
    }
  }

  /// Runs a job and records its end.
  ///
  /// Chooses the next one under the same lock, because each use of it delays the next job, unless the
  /// on-finish command comes first.
  private func run(_ job: Job, _ log: FileDescriptor) throws(Failure) -> Choice? {
    let begun = Clock.monotonic()
    let (process, termination) = try perform(job, log)
    let ended = Clock.monotonic()
    let (ending, launch) = runner.end(of: job, process: process)
    if ending != process, let reason = launch?.failure(ending) {
      // The disk may be full.
      try? log.writeAll(Bytes("serialq: \(reason)\n".utf8))
    }
    let hook = runner.view.withLock { $0.queue.settings.onFinish }
    let now = Clock.now()
    let isInterrupted = termination.isStopped && runner.interruptsJob
    let state = ending?.state(because: termination.cause) ?? .interrupted
    runner.limitLog(of: job, ending: isInterrupted ? .interrupted : state)
    var next: Choice?
    var damaged: [DamagedLine] = []
    defer { report(damaged) }
    runner.supervision.drain()
    try runner.record(of: job, launch, flush: hook != nil) { current in
      // A cancellation was reported as accepted, so the job must not be retried, even if it had
      // ended or timed out before.
      let cause = current.isCancelRequested ? .cancelled : termination.cause
      if isInterrupted, !current.isCancelRequested {
        return (.interrupted(id: job.id, at: now, stopped: true), .interrupted)
      }
      guard let ending else { return current.unobservedEnd(at: now) }
      let suspended = current.run?.suspension.total(at: ended) ?? 0
      let duration = max(0, ended - begun - suspended)
      let end = Event.ended(id: job.id, at: now, duration: duration, how: ending, cause: cause)
      return (end, ending.state(because: cause))
    } next: { (view, scope) throws(Failure) in
      guard hook == nil else { return }
      next = try choose(&view, &scope, &damaged)
    }
    if let hook { try runner.run(hook, for: job.id) }
    return next
  }

  /// Spawns the job and waits for its end.
  private func perform(
    _ job: Job, _ log: FileDescriptor
  ) throws(Failure) -> (Ending, Termination) {
    let limit = Int64(job.limits.timeout)
    var termination = Termination(
      timeLimit: limit > 0 ? Clock.monotonic() + limit * 1_000_000_000 : nil,
      isLauncher: job.run?.launch != nil)
    switch spawn(job, log) {
    case .cannotRun(let code, let reason):
      try log.writeAll(Bytes("serialq: \(reason)\n".utf8))
      return (.cannotRun(code.rawValue, reason: Bytes(reason.utf8)), termination)
    case .running(let pid, let keeper):
      reportProcess(pid, of: job)
      if let next = runner.view.withLock({ $0.queue.firstWaiting }), next.run == nil {
        runner.prepare(next)
      }
      let ending = try runner.supervise(
        ChildProcess(pid: pid), &termination, lock: runner.folder.jobLock(job.id),
        isLauncher: job.run?.launch != nil
      ) {
        (isEnding) throws(Failure) in
        try runner.requests(for: job.id, isEnding: isEnding)
      } report: { (left, isEnding) throws(Failure) in
        try runner.report(left, of: job, isEnding: isEnding)
      }
      try finish(keeper, log)
      return (ending, termination)
    }
  }

  private enum Spawned {
    case running(pid: Int32, KeeperProcess.Running?)
    case cannotRun(ExitCode, reason: String)
  }

  /// Spawns the job and closes the runner's descriptor of its lock, so that only the job holds it.
  private func spawn(_ job: Job, _ log: FileDescriptor) -> Spawned {
    runner.jobLock.withLock { lock in
      defer { lock = nil }
      var process: JobProcess
      let input: FileDescriptor?
      do throws(Failure) {
        input = try runner.folder.openInput(of: job)
        process = try self.process(of: job)
        process.streams = .files(input: input?.raw, output: log.raw)
        process.lock = lock?.raw
      } catch {
        // Fails only the job: a failing runner would leave one interrupted job after another.
        return .cannotRun(error.code, reason: error.sentence)
      }
      var keeper: KeeperProcess?
      if job.run?.hasTerminal == true {
        // Before the job: without it, there is no terminal to run in.
        switch KeeperProcess.start(for: job, in: runner.folder, log: log) {
        case .running(let started):
          keeper = started
          process.streams = .terminal(started.path)
        case .cannotRun(let code, let reason):
          return .cannotRun(code, reason: "its terminal: \(reason)")
        }
      }
      let started = withExtendedLifetime((log, input, keeper)) { process.start() }
      switch started {
      case .running(let pid): return .running(pid: pid, keeper?.running)
      case .cannotRun(let code, let reason):
        // The keeper ends when the lock of the job is free, which it would be too late for `log`.
        if let keeper { _ = try? keeper.running.finish() }
        return .cannotRun(code, reason: reason)
      }
    }
  }

  /// The process that executes a job, without its streams: its own, or that of the launcher.
  private func process(of job: Job) throws(Failure) -> JobProcess {
    var process = JobProcess(
      command: job.command, shell: runner.view.withLock { $0.queue.settings.shell },
      environment: [], directory: job.context.directory, umask: job.context.umask)
    var variables = runner.folder.variables(of: job.id)
    if let launcher = Launcher(of: job, in: runner.folder) {
      let words = process.arguments
      variables = try launcher.prepare(words: words.count)
      process.command = .arguments(launcher.arguments(for: words))
    }
    process.environment = try runner.environment.withLock { (last) throws(Failure) in
      try last.load(
        job.context.environment, of: Environments(runner.folder), adding: variables)
    }
    return process
  }

  /// Waits until the last output is in the log, which then also says if the terminal was lost.
  private func finish(_ keeper: KeeperProcess.Running?, _ log: FileDescriptor) throws(Failure) {
    guard let keeper else { return }
    let ending = try keeper.finish()
    guard ending != .exited(0) else { return }
    let how = if case .killed(let signal) = ending { "by \(SignalName.of(signal))" } else { "" }
    // The disk may be full.
    try? log.writeAll(
      Bytes("\r\nserialq: the process that held the job's terminal was ended \(how)\r\n".utf8))
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

  /// Records the process of the job for other commands.
  ///
  /// Not flushed: a process does not survive a reboot either. Ignores errors: a running job must
  /// not be left without supervision.
  private func reportProcess(_ pid: Int32, of job: Job) {
    try? runner.decide { (view, scope) throws(Failure) in
      try view.reader.take(try scope.append([.spawned(id: job.id, pid: pid)], flush: false))
    }
  }
}

extension QueueFolder {
  fileprivate func openInput(of job: Job) throws(Failure) -> FileDescriptor? {
    guard let path = input(of: job) else { return nil }
    if case .file = job.input { return try FileDescriptor.openInput(path) }
    return try FileDescriptor.open(path, .read)
  }
}

extension Runner {
  /// Waits for the end of a child, and, if it was terminated, for that of all processes that hold
  /// its lock.
  ///
  /// `lock` is the path of the lock that the processes of a job inherit.
  func supervise(
    _ child: ChildProcess, _ termination: inout Termination, lock path: Bytes? = nil,
    isLauncher: Bool = false,
    requests: (_ isEnding: Bool) throws(Failure) -> Termination.Requests,
    report: (_ left: [SignalRounds.Unreachable], _ isEnding: Bool) throws(Failure) -> Void = {
      _, _ in
    }
  ) throws(Failure) -> Ending {
    // The group is that of the child until it is reaped.
    var delivery = SignalDelivery(lock: path, isLauncher: isLauncher) { child.pid }
    let ended = try Notice(ofEndOf: child)
    try supervision.wait(
      for: ended, &termination, &delivery, requests: requests, report: report)
    // Reaped only after its group is gone: otherwise a signal could reach a reused process group.
    if termination.cause != .itself, let path,
      let lock = try FileDescriptor.openIfThere(path, .readWrite)
    {
      let free = try Notice {
        try? lock.lock()
        lock.unlock()
      }
      try supervision.wait(
        for: free, &termination, &delivery, canGiveUp: true, requests: requests, report: report)
    }
    return try child.reap()
  }
}
