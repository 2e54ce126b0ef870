import SerialqQueue
import SerialqSystem

// The step that runs the first waiting job of the queue.
//
// Chooses the job only when its turn has come, so that jobs can be reordered and cancelled until
// then.
extension RunnerSteps {
  /// Runs the next job; returns false if no job is waiting or the runner was stopped.
  ///
  /// It has then released its lock.
  func runNext() throws(Failure) -> Bool {
    guard let (job, before, log) = try begin() else { return false }
    choice = try run(job, before, log)
    return true
  }

  /// Chooses the job and records its start before a process exists; returns nil as ``runNext()``
  /// does false.
  private func begin() throws(Failure) -> (Job, JobStatus, FileDescriptor)? {
    while true {
      let next = if let choice = choice.take() { choice } else { try choose() }
      let due: Int64
      switch next {
      case .idle(let hook, let results, let open):
        try run(hook, after: results, open: open)
        continue
      case .started(let job, let before, let log): return (job, before, log)
      case .nothing: return nil
      case .later(let time): due = time
      case .lockLost:
        say("serialq: \(Visible.text(folder.runnerLock)) was removed; locking it again")
        guard try takeOver() else {
          say("serialq: another runner is active on queue \(folder.name); leaving")
          return nil
        }
        continue
      }
      removeSpareLock()
      removePrepared()
      try supervision.waitForChange(until: due)
    }
  }

  enum Choice {
    /// The job, whose start is recorded, how it was before, and its log.
    case started(Job, before: JobStatus, FileDescriptor)
    /// By the monotonic clock.
    case later(Int64)
    /// Run the on-idle command, and choose again: it may have added jobs.
    case idle(Hook, Results, open: Int)
    case nothing
    /// The file of the runner lock was removed: another runner may be active.
    case lockLost
  }

  private func choose() throws(Failure) -> Choice {
    defer { reportDamage() }
    supervision.drain()
    return try decide { (scope) throws(Failure) in try choose(&scope) }
  }

  /// Call it after the journal's lock is released: the reader of the messages may block.
  private func reportDamage() {
    if let text = damaged.message(in: folder) { say(text) }
    damaged = []
  }

  private func choose(_ scope: inout JournalScope) throws(Failure) -> Choice {
    if try isLockLost() {
      // Their files stay: another runner may be using those of the same jobs.
      (spareLock, prepared) = (nil, nil)
      return .lockLost
    }
    if reader.isWorthCompacting {
      // Compaction is optional, and the disk may be full.
      damaged = (try? scope.compact()) ?? []
      try reader.read()
    }
    while true {
      let clocks = Clock.reading()
      switch supervision.isStopped ? .nothing : queue.next(now: clocks) {
      case .run(let job):
        if let due = dueAgain(job, clocks) {
          try scope.flush()
          return .later(due)
        }
        // Before the start is recorded: if logs cannot be created, each runner would otherwise
        // record one more start, until all jobs of the queue are interrupted.
        let log: FileDescriptor
        do throws(Failure) {
          log = try takeFiles(of: job)
        } catch  where error.isShortage {
          let status = job.status.postponed(for: Bytes(error.sentence.utf8), at: clocks.date)
          try append(job.id, status == job.status ? nil : status, &scope)
          return .later(postpone(job.id))
        }
        let started = job.status.started(
          at: clocks, hasTerminal: queue.givesTerminal(to: job),
          launch: queue.settings.launcher.map { Launch(command: $0) })
        try append(job.id, started, &scope)
        return .started(queue.job(job.id) ?? job, before: job.status, log)
      case .skip(let job, let because):
        let skipped = job.status.left(.skipped(because: because), at: clocks.date)
        try append(job.id, skipped, &scope, flush: false)
      case .later(let time):
        try scope.flush()
        return .later(time)
      case .nothing:
        if !supervision.isStopped, queue.isIdleHookDue, let hook = queue.settings.onIdle {
          let (results, open) = (queue.properties.results, queue.openCount)
          // Before it starts, as for a job: no other runner may run it again.
          var properties = queue.properties
          properties.startOnIdle()
          try scope.append([.queue(properties)])
          try reader.read()
          return .idle(hook, results, open: open)
        }
        // The end of the last job was left to this flush.
        try scope.flush()
        release()
        return .nothing
      }
    }
  }

  /// When to try again to start a job; nil if it is not postponed.
  private func dueAgain(_ job: Job, _ now: ClockReading) -> Int64? {
    postponed.flatMap { $0.id == job.id && $0.due > now.monotonic ? $0.due : nil }
  }

  private func postpone(_ id: JobID) -> Int64 {
    let next = PostponedJob(id, after: postponed)
    postponed = next
    return next.due
  }

  /// Withdraws the start of a job that has no process yet, because of a shortage that can pass.
  ///
  /// Returns false if it was cancelled meanwhile. If the runner is killed before, the job is
  /// interrupted, as always between the record of its start and its process.
  private func takeBack(
    _ job: Job, to before: JobStatus, _ shortage: Failure
  ) throws(Failure) -> Bool {
    try decide { (scope) throws(Failure) in
      let missing = Bytes(shortage.sentence.utf8)
      guard let current = queue.running(job), !current.isCancelRequested,
        let status = before.postponed(for: missing, at: Clock.now())
      else { return false }
      try append(job.id, status, &scope)
      if let id = JobLock.remove(job, folder) { JobLock.removeFile(of: id, folder) }
      _ = postpone(job.id)
      return true
    }
  }

  /// Appends a state, which is not nil where the job is in the state before it.
  private func append(
    _ id: JobID, _ status: JobStatus?, _ scope: inout JournalScope, flush: Bool = true
  ) throws(Failure) {
    guard let status else { return }
    try reader.take(try scope.append([.status(id, status)], flush: flush))
  }

  /// Runs a job and records its end.
  ///
  /// Chooses the next one under the same lock, because each use of it delays the next job, unless
  /// the on-finish command comes first.
  private func run(
    _ job: Job, _ before: JobStatus, _ log: FileDescriptor
  ) throws(Failure) -> Choice? {
    let begun = Clock.monotonic()
    guard let (process, child, termination) = try perform(job, before, log) else { return nil }
    let ended = Clock.monotonic()
    let (ending, launch) = end(of: job, process: process)
    if ending != process, let reason = launch?.failure(ending) {
      // The disk may be full.
      try? log.writeAll(Bytes("serialq: \(reason)\n".utf8))
    }
    let hook = queue.settings.onFinish
    let now = Clock.now()
    let isStopped = termination.isStopped || isSignaledToo(process, termination)
    let isInterrupted = isStopped && supervision.interruptsJob
    let state = ending?.state(because: termination.cause) ?? .interrupted
    limitLog(of: job, ending: isInterrupted ? .interrupted : state)
    var next: Choice?
    defer { reportDamage() }
    supervision.drain()
    // The job itself writes its log, so no failed write shows that output is missing.
    let unlogged = log.isDiskFull ? Bytes("its disk was full when the job ended") : nil
    try record(of: job, launch, unlogged: unlogged, flush: hook != nil) { current in
      // A cancellation was reported as accepted, so the job must not be retried, even if it had
      // ended or timed out before.
      let cause = current.isCancelRequested ? .cancelled : termination.cause
      if !current.isCancelRequested, isInterrupted || ending == nil {
        return (.interrupted(isStopped: isInterrupted), now)
      }
      guard let ending else { return (.cancelled, now) }
      let suspended = current.running?.suspension.total(at: ended) ?? 0
      return (.ended(ending, cause, duration: max(0, ended - begun - suspended)), now)
    } next: { (scope) throws(Failure) in
      guard hook == nil else { return }
      next = try choose(&scope)
    }
    // Not before: that it is a child of this process shows another runner, after the file of the
    // runner lock was removed, that this one records the end.
    _ = try child?.reap()
    supervision.reapAdopted()
    if let hook { try run(hook, for: job.id) }
    return next
  }

  /// Whether the system signaled the job, which did not succeed, and this runner too, as at a
  /// shutdown.
  ///
  /// It signals them at the same time: the end of the job can be noticed before the stop, and the
  /// next job could start.
  private func isSignaledToo(_ ending: Ending, _ termination: Termination) -> Bool {
    guard ending != .exited(0), termination.cause == .itself else { return false }
    supervision.hearSignals()
    return supervision.isStopped
  }

  /// Spawns the job and waits for its end, without reaping it; nil if it could not be spawned yet,
  /// and waits as before.
  private func perform(
    _ job: Job, _ before: JobStatus, _ log: FileDescriptor
  ) throws(Failure) -> (Ending, ChildProcess?, Termination)? {
    let limit = Int64(job.limits.timeout)
    var termination = Termination(
      timeLimit: limit > 0 ? Clock.monotonic() + limit * 1_000_000_000 : nil,
      isLauncher: job.execution?.launch != nil)
    let (child, keeper): (ChildProcess, ChildProcess?)
    do throws(Failure) {
      (child, keeper) = try spawn(job, log)
    } catch {
      if error.isShortage, try takeBack(job, to: before, error) { return nil }
      // Fails only the job: a failing runner would leave one interrupted job after another.
      try log.writeAll(Bytes("serialq: \(error.sentence)\n".utf8))
      return (Ending(error), nil, termination)
    }
    postponed = nil
    reportProcess(child.pid, of: job)
    if let next = queue.firstWaiting, !next.hasRun { prepare(next) }
    let ending = try supervise(child, of: job, &termination)
    if let keeper { try finish(keeper, log) }
    return (ending, child, termination)
  }

  /// Spawns the job, and before it the keeper of its terminal, if it has one.
  ///
  /// Closes the runner's descriptor of its lock, so that only the job holds it.
  private func spawn(
    _ job: Job, _ log: FileDescriptor
  ) throws(Failure) -> (ChildProcess, keeper: ChildProcess?) {
    // Taken first: closed at the end of this function, also after an error.
    let lock = prepared.take()?.lock
    let input = try folder.openInput(of: job)
    var process = try process(of: job)
    process.streams = .files(input: input, output: log)
    process.lock = lock
    guard job.hadTerminal else { return (try process.start(), nil) }
    // Without it, there is no terminal to run in.
    let (terminal, keeper): (PseudoTerminal, ChildProcess)
    do throws(Failure) {
      (terminal, keeper) = try KeeperProcess.start(for: job, in: folder, log: log)
    } catch {
      throw Failure(
        "its terminal", error.sentence, next: "The job was not started.", code: error.code,
        number: error.number)
    }
    process.streams = .terminal(terminal.path)
    do throws(Failure) {
      return (
        try withExtendedLifetime(terminal) { () throws(Failure) in try process.start() }, keeper
      )
    } catch {
      // Otherwise it would end only when the lock of the job is free: too late for `log`.
      _ = try? KeeperProcess.finish(keeper)
      throw error
    }
  }

  /// The process that executes a job, without its streams: its own, or the launcher's.
  private func process(of job: Job) throws(Failure) -> JobProcess {
    var process = JobProcess(
      command: job.command, shell: queue.settings.shell,
      environment: [], directory: job.context.directory, umask: job.context.umask)
    var variables = folder.variables(of: job.id)
    if let launch = job.execution?.launch {
      let words = process.arguments
      variables = try Launch.prepare(job, in: folder, words: words.count)
      process.command = .arguments(launch.arguments(for: words))
    }
    process.environment = try environments.load(job.context.environment, adding: variables)
    return process
  }

  /// Waits until the last output is in the log, which then also says if the terminal was lost.
  private func finish(_ keeper: ChildProcess, _ log: FileDescriptor) throws(Failure) {
    let ending = try KeeperProcess.finish(keeper)
    guard ending != .exited(0) else { return }
    let how = if case .killed(let signal) = ending { "by \(SignalName.of(signal))" } else { "" }
    // The disk may be full.
    try? log.writeAll(
      Bytes("\r\nserialq: the process that held the job's terminal was ended \(how)\r\n".utf8))
  }

  /// Acquires the lock and opens the log of a job that is about to start, unless both are prepared;
  /// returns the log.
  private func takeFiles(of job: Job) throws(Failure) -> FileDescriptor {
    if let ready = prepared, ready.id == job.id, !job.hasRun {
      return ready.log
    }
    removePrepared()
    let (lock, log) = try folder.remakingSubfolders { () throws(Failure) in
      (try JobLock.take(job.id, spare: spareLock.take(), folder), try makeLog(of: job))
    }
    prepared = PreparedJob(id: job.id, lock: lock, log: log)
    return log
  }

  /// Opens the log of an attempt: a new file after a manual retry, the same file after an automatic
  /// one.
  ///
  /// After a manual retry a process of the old attempt may still write to the old file. During
  /// automatic retries a follower may not have read the last output yet.
  private func makeLog(of job: Job) throws(Failure) -> FileDescriptor {
    let path = folder.log(job.id)
    if job.retriesUsed > 0 { return try FileDescriptor.open(path, .log) }
    if job.hasRun {
      if UnreadLogs(in: folder).keep(job) { keepsLogs = true }
      try FileSystem.remove(path)
    }
    return try FileDescriptor.open(path, .emptyLog)
  }

  /// Records the process of the job for other commands.
  ///
  /// Not flushed: a process does not survive a reboot either. Ignores errors: a running job must
  /// not be left without supervision.
  private func reportProcess(_ pid: Int32, of job: Job) {
    try? decide { (scope) throws(Failure) in
      try append(job.id, queue.running(job)?.status.spawned(pid), &scope, flush: false)
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
