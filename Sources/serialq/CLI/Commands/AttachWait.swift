import SerialqQueue
import SerialqRunner
import SerialqSystem
import SerialqWatch

/// The work of `attach`: waits for each attempt of a job, attaches the terminal to it, and reports
/// the end of the job.
struct AttachWait {
  private let id: JobID
  private let folder: QueueFolder
  private let detachKey: ControlKey
  private var reader: JournalReader
  private let mode: TerminalMode?
  private let watch: FileWatch
  private let wakeUp: WakeUpPipe
  private let signals: StopSignals
  private let terminalSignals: TerminalSignals
  /// The attempt whose terminal is over, or lost.
  private var ended: Int?
  private var isLost = false
  /// When to look again if nothing changes, by the monotonic clock.
  private var deadline: Int64?
  /// When to give up the wait for a keeper, and for the end of a job without one.
  private var keeperLimit: Int64?
  private var endLimit: Int64?
  private var announced = ""
  private var hasReportedRunner = false

  /// How long a keeper takes at most to serve a terminal, or a runner to record an end.
  private static let patience: Int64 = 5_000_000_000

  init(
    for id: JobID, in folder: QueueFolder, leavingBy key: ControlKey
  ) throws(Failure) {
    let wakeUp = try WakeUpPipe()
    self.wakeUp = wakeUp
    let mode = TerminalMode(of: STDIN_FILENO)
    self.mode = mode
    watch = try FileWatch(folders: [folder.path, folder.locks])
    self.id = id
    self.folder = folder
    detachKey = key
    reader = JournalReader(folder)
    terminalSignals = try TerminalSignals { wakeUp.wake() }
    signals = try StopSignals { signal, count in
      guard count > 1 else { return wakeUp.wake() }
      // The main thread should have ended at the first one.
      mode?.restore(on: STDIN_FILENO)
      SignalListener.obey(signal)
    }
  }

  private var queue: Queue { reader.queue }
  mutating func run(in session: inout Session) throws(Failure) -> ExitCode {
    while true {
      drain()
      session.report(try reader.read().damaged, in: folder)
      if let signal = signals.first {
        guard signal == SIGQUIT else { return end(by: signal, in: &session) }
        // The key that leaves, in a terminal that is not raw.
        session.confirm("serialq: job \(id) stays in the queue")
        return .success
      }
      if terminalSignals.takeStop() { terminalSignals.stop() }
      guard let job = queue.job(id) else {
        throw Failure("job \(id)", "it was removed", next: "It had ended.")
      }
      if job.state.isOver { return try report(job, in: &session) }
      switch try proceed(job, in: &session) {
      case .left(let code): return code
      case .lookAgain: break
      case .wait: _ = try waitForInput(on: descriptors, until: deadline)
      }
    }
  }

  /// What to do about the present state of the job.
  private enum Next {
    /// The job may have changed meanwhile.
    case lookAgain
    case wait
    /// The user has left the job.
    case left(ExitCode)
  }

  private var descriptors: [Int32] { [watch.descriptor, wakeUp.descriptor] }

  private func drain() {
    wakeUp.drain()
    watch.drain()
  }

  /// Attaches the terminal if the job runs.
  private mutating func proceed(_ job: Job, in session: inout Session) throws(Failure) -> Next {
    let attempt = job.attempts
    deadline = nil
    if job.state == .running, ended == attempt {
      try awaitEnd(in: session)
      return .wait
    }
    isLost = false
    try queue.requireTerminal(of: job, named: folder.name)
    guard job.state == .running else {
      try awaitStart(of: job, in: &session)
      return .wait
    }
    guard let socket = try Attachment.connect(to: id, in: folder) else {
      return try awaitKeeper(of: job)
    }
    return try attach(by: socket, attempt, in: &session)
  }

  private mutating func attach(
    by socket: FileDescriptor, _ attempt: Int, in session: inout Session
  ) throws(Failure) -> Next {
    (keeperLimit, endLimit) = (nil, nil)
    try Attachment.awaitForeground()
    let start = "serialq: attached to job \(id): "
    let end = "; \(detachKey.name) leaves it running"
    let room = max(20, TerminalWindow(of: STDOUT_FILENO).columns - start.count - end.count)
    var attachment = try Attachment(
      socket, to: id, reading: reader, leavingBy: detachKey,
      greeting: start + (queue.job(id)?.title(columns: room) ?? "") + end)
    let reason = try attachment.run(watching: descriptors, terminalSignals) {
      drain()
      return ([], signals.first.map { .signal($0) })
    }
    switch reason {
    case .detached, .inputClosed:
      session.confirm("serialq: job \(id) continues")
      return .left(reason == .detached ? .success : .cannot)
    case .signal(let signal): return .left(self.end(by: signal, in: &session))
    case .over, .missed, .lost:
      ended = attempt
      isLost = reason == .lost
      return .lookAgain
    }
  }

  // MARK: Waiting

  private mutating func awaitStart(of job: Job, in session: inout Session) throws(Failure) {
    (keeperLimit, endLimit) = (nil, nil)
    if queue.isPaused || !queue.suspended.isEmpty {
      throw queue.blocked(named: folder.name)
    }
    try reportMissingRunner(in: session)
    let attempt = job.attempts
    if attempt > 0, job.retriesUsed > 0 {
      announce("serialq: job \(id) failed, attempt \(attempt); waiting for the next", &session)
    } else {
      announce("serialq: waiting for job \(id) to start", &session)
    }
  }

  private mutating func announce(_ text: String, _ session: inout Session) {
    if text != announced { session.confirm(text) }
    announced = text
  }

  /// The keeper starts before the job, and takes a moment to serve the terminal.
  private mutating func awaitKeeper(of job: Job) throws(Failure) -> Next {
    guard job.running?.pid != nil else { return .wait }
    guard try KeeperLock.isHeld(id, folder) else {
      // The job has just ended, or its terminal is gone.
      ended = job.attempts
      isLost = true
      return .lookAgain
    }
    let now = Clock.monotonic()
    if let limit = keeperLimit, limit <= now {
      throw Failure(
        "the terminal of job \(id)", "its keeper accepts no connection",
        next: "The output says why: \(advised("log", in: folder.name)) \(id)")
    }
    keeperLimit = keeperLimit ?? now + Self.patience
    deadline = keeperLimit
    return .wait
  }

  /// Waits until the end of the attempt is recorded.
  private mutating func awaitEnd(in session: Session) throws(Failure) {
    guard try JobLock.isHeld(id, folder) else {
      return try reportMissingRunner(in: session)
    }
    guard isLost else { return }
    let now = Clock.monotonic()
    if let limit = endLimit, limit <= now {
      throw Failure(
        "the terminal of job \(id)", "it is gone: its keeper was killed, and the job was hung up",
        next: "Follow the output: \(advised("log", in: folder.name)) -f \(id)")
    }
    endLimit = endLimit ?? now + Self.patience
    deadline = endLimit
  }

  private mutating func reportMissingRunner(in session: Session) throws(Failure) {
    guard !hasReportedRunner, try !RunnerLock.isHeld(folder) else { return }
    // It records the end of the job before it releases its lock, and may just have done so.
    try reader.read()
    guard queue.job(id)?.state.isOver == false else { return wakeUp.wake() }
    hasReportedRunner = true
    session.reportMissingRunner(of: folder.name)
  }

  // MARK: The end

  private func report(_ job: Job, in session: inout Session) throws(Failure) -> ExitCode {
    // Durable before it is reported: the runner leaves some lines to its next flush.
    try Journal(folder).locked { (scope) throws(Failure) in try scope.flush() }
    if job.state == .succeeded {
      session.confirm("serialq: job \(id) \(job.outcomeText)")
    } else {
      session.output.message("serialq: job \(id) \(job.outcomeText): \(job.title)")
      if job.state.isFailure { session.suggestLog(id, in: folder.name) }
    }
    return job.status.code
  }

  private func end(by signal: Int32, in session: inout Session) -> ExitCode {
    if signal != SIGHUP, queue.job(id)?.state == .running {
      session.output.message("serialq: job \(id) continues")
    }
    return .ended(by: signal)
  }
}
