import SerialqQueue
import SerialqSystem
import SerialqWatch

/// `serialq log`: prints the log of a job, or follows the logs of a queue.
struct LogCommand: Equatable {
  var queues: QueueSelection
  /// If empty, selects the whole queue when following, else the job that ran last.
  var jobs: JobSelection
  var follows: Bool
  /// How many of the last lines to print; all if `nil`.
  var lines: Int?
  /// Whether the output of a job with a terminal is printed unchanged.
  var isRaw = false
}

extension LogCommand: Subcommand {
  static let spec = CommandSpec(
    name: .log,
    summary: "print a job's output",
    synopsis: ["log [options] [ID...]", "log -f [options] [ID...]", "log -f --all"],
    description: [
      """
      Prints the standard output and the standard error of the job in the order written. Without \
      an id, prints the output of the running job, or else of the job that ran last. For a running \
      job, prints the output so far. With several ids, prints one output after another.
      """,
      """
      With -f, waits for a queued job to start, prints its output as it is written, and ends with \
      the job. Without an id, -f follows the queue from job to job. Output that is there already \
      begins with its last \(followedLines) lines. If jobs wait in a paused queue and none runs, \
      or the job is suspended, -f fails at once. Ctrl-C ends only log: the job continues.
      """,
      """
      With -f --all, follows all queues, also those that are created meanwhile, until none has \
      work. Prints whole lines only, and on a terminal a heading with queue and job where the \
      output of another job continues.
      """,
    ],
    options: QueueSelection.options + [
      OptionSpec(.follow, short: "f", help: "Continues to print as the output grows."),
      OptionSpec(
        .lines, short: "n", value: OptionValue(.countOrAll, "N"),
        help: "The last N lines, or all. The default is \(followedLines) with -f, else all."),
      OptionSpec(.raw, help: "All bytes of a job with a terminal, not its text."),
    ],
    operands: .jobIDs,
    examples: [
      Example("serialq log 12", "the output of job 12"),
      Example("serialq log build", "of the latest job with this label"),
      Example("serialq log", "the output of the running or last job"),
      Example("serialq log -n 20", "its last 20 lines"),
      Example("serialq log -f", "the output of the queue, live"),
      Example("serialq log -f --all", "of all queues"),
    ]
  )

  /// How many lines -f begins with by default, as `tail -f` does.
  private static let followedLines = 10

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    let follows = words.has(.follow)
    let standard = follows ? Self.followedLines : nil
    let queues = try QueueSelection(parsing: words, queue: queue, takesJobs: true)
    if queues == .all, !follows { throw words.misused("--all", "needs --follow") }
    self.init(
      queues: queues, jobs: JobSelection(words.operands), follows: follows,
      // `all` is not a number.
      lines: words.has(.lines) ? words.number(.lines) : standard, isRaw: words.has(.raw))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    guard case .one(let queue) = queues, !(follows && jobs.isEmpty) else {
      return try followQueues(in: &session)
    }
    let selection = jobs.isEmpty ? JobSelection(try lastJob(of: queue, in: &session)) : jobs
    let (folder, _, jobs) = try session.readJobs(selection, in: queue)
    let start = follows ? try Follower.Start(folder, jobs.map { $0.id...$0.id }) : nil
    for job in jobs where !session.output.readerIsGone {
      let launch = job.execution?.launch
      if jobs.count > 1 || self.jobs.isEmpty || launch != nil, session.messageTraits.isTerminal {
        // On the same terminal, the output before may lack its last newline.
        if session.traits.isTerminal { session.output.endLine() }
        try session.output.flush()
        let launcher = launch.map { " (\($0.text))" } ?? ""
        session.output.message("serialq: job \(job.id): \(job.title)\(launcher)")
      }
      try printLog(of: job, in: folder, from: start, &session)
    }
    start?.release()
    return .success
  }

  private func printLog(
    of job: Job, in folder: QueueFolder, from start: Follower.Start?, _ session: inout Session
  ) throws(Failure) {
    let id = job.id
    if let text = job.unloggedText { session.output.message("serialq: job \(id): \(text)") }
    if let start, !job.state.isOver {
      // All of what is written after this call.
      let lines = job.hasRun ? lines : nil
      _ = try session.follow((id, start), in: queues, lines: lines, isRaw: isRaw)
      return
    }
    if job.state == .waiting, !job.hasRun {
      throw Failure(
        "the log of job \(id)", "it has not run yet",
        next: "Wait for it: \(advised("log", in: folder.name)) -f \(id)")
    }
    if job.hasRun, job.state == .skipped {
      session.output.message(
        "serialq: job \(id) \(job.outcomeText); this is the output of attempt \(job.attempts)")
    } else if !job.hasRun {
      session.output.message("serialq: job \(id) has no output: it \(job.outcomeText)")
    }
    let restorer = TerminalRestorer()
    let heard = session.traits.isTerminal ? SignalListener.ending : []
    let signals = try SignalListener(heard) { signal in
      restorer.restore { SignalListener.obey(signal) }
    }
    defer {
      restorer.restore(&session.output)
      withExtendedLifetime(signals) {}
    }
    let isText = job.hadTerminal && !isRaw
    var log = LogReader(
      folder.log(id), restorer,
      text: isText ? TerminalText(keepsStyle: session.traits.hasColor) : nil
    ) { () throws(Failure) in start == nil ? nil : try folder.openKeptLog(of: job) }
    guard try !log.printOnce(to: &session.output, lines: lines), job.hasRun else { return }
    throw Failure(
      "the log of job \(id)", "its file \(folder.log(id).text) was removed",
      next: "Its output is lost. What is known of it: \(advised("show", in: folder.name)) \(id)")
  }

  /// The job that is running or ran last.
  private func lastJob(of queue: String, in session: inout Session) throws(Failure) -> JobID {
    let found = try session.readQueue(named: queue)?.1
    guard let job = found?.lastStarted else {
      let others = found?.jobs.isEmpty ?? true ? session.queuesWithJobs() : nil
      throw Failure(
        "log", "queue \(queue) has no job that has run",
        next: others ?? "Follow them: \(advised("log", in: queue)) -f")
    }
    return job.id
  }

  private func followQueues(in session: inout Session) throws(Failure) -> ExitCode {
    var hasWork = false
    var hasJobs = false
    // An empty queue has nothing to follow, and its folders may not exist yet.
    let faults = try session.faults(in: queues) { (name) throws(Failure) in
      let queue = try session.readQueue(named: name)?.1 ?? Queue()
      hasJobs = hasJobs || !queue.jobs.isEmpty
      hasWork = hasWork || !queue.running.isEmpty || queue.count(.waiting) > 0
    }
    if hasWork { return try session.follow(in: queues, lines: lines, isRaw: isRaw) }
    switch queues {
    case .all:
      session.output.message("serialq: no queue has anything to follow; see: \(advised("queues"))")
    case .one(let name):
      if !hasJobs, let others = session.queuesWithJobs() {
        session.output.message("serialq: queue \(name) is empty\n\(others)")
      } else if faults.isEmpty {
        session.output.message(
          """
          serialq: queue \(name) has nothing to follow; list its jobs: \
          \(advised("list", in: name))
          """)
      }
    }
    try session.fail(by: faults)
    return .success
  }
}
