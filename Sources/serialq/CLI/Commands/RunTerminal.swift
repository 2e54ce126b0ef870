import SerialqQueue
import SerialqRunner
import SerialqSystem
import SerialqWatch

/// The terminal of `run -t`, which is attached to each of the jobs that the call adds while the job
/// runs.
struct RunTerminal {
  private let folder: QueueFolder
  /// The jobs that the user has not left.
  private var jobs: Set<JobID>
  /// The attempt to which it was attached last.
  private var attempt: AttemptID?

  init(of folder: QueueFolder, for jobs: [JobID]) {
    self.folder = folder
    self.jobs = Set(jobs)
  }

  /// Fails unless the call has a terminal to pass on.
  static func require(in session: inout Session) throws(Failure) {
    let input = TerminalTraits(of: STDIN_FILENO, variable: Machine.variable)
    guard !input.isTerminal || !session.traits.isTerminal else { return }
    throw Failure(
      "run -t", "standard input and standard output must be a terminal",
      next: """
        Nothing was queued. Use \(advised("add")) -t, and \(advised("attach")) from a terminal.
        """)
  }

  /// Connects to the running job if it is one of these; nil if its terminal is not to be attached,
  /// or not yet.
  mutating func connect(_ queue: Queue) throws(Failure) -> (JobID, FileDescriptor)? {
    guard let job = queue.running.first.flatMap(queue.job), job.hadTerminal,
      jobs.contains(job.id), AttemptID(job) != attempt,
      let socket = try Attachment.connect(to: job.id, in: folder)
    else { return nil }
    attempt = AttemptID(job)
    return (job.id, socket)
  }

  /// Notes why the terminal is no longer attached to a job.
  ///
  /// The job's output is printed from its log if its terminal will not be attached again, or has
  /// shown nothing.
  mutating func note(
    _ end: Attachment.End, of id: JobID, _ follower: inout Follower
  ) throws(Failure) {
    if end != .missed { try follower.skipOutput() }
    guard end != .over, end != .missed else { return }
    jobs.remove(id)
    follower.heldBack.remove(id)
  }

  /// Attaches the terminal to a job, and says how to detach it, and after that, what it means.
  func attach(
    to id: JobID, by socket: FileDescriptor, watching descriptors: [Int32],
    in session: inout Session,
    check: () -> (messages: [String], end: Attachment.End?), isCancelable: () -> Bool,
    wake: @escaping @Sendable () -> Void
  ) throws(Failure) -> Attachment.End {
    try Attachment.awaitForeground()
    // Released after the end: until then the live display receives the same signals.
    let signals = try TerminalSignals(wake: wake)
    var attachment = try Attachment(
      socket, to: id, reading: JournalReader(folder), leavingBy: .backslash,
      greeting: "serialq: attached; Ctrl-\\ detaches")
    let end = try attachment.run(watching: descriptors, signals, check: check)
    switch end {
    case .detached:
      let meaning = isCancelable() ? "Ctrl-C now cancels job \(id)" : "job \(id) continues"
      session.output.message(
        """
        serialq: detached; \(meaning); attach again: \(advised("attach", in: folder.name)) \(id)
        """)
    case .lost:
      // The end of the job was not reported to a terminal that had stopped reading.
      guard try JobLock.isHeld(id, folder) else { return .over }
      session.output.message("serialq: the terminal of job \(id) is gone: its keeper was killed")
    case .over, .missed, .signal, .inputClosed: break
    }
    return end
  }
}
