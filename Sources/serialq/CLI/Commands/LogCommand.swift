import SerialqQueue
import SerialqRunner
import SerialqSystem

/// `serialq log`: prints the log of a job, or follows those of a queue.
struct LogCommand: Equatable {
  var queue: String
  /// If `nil`, selects the whole queue when following, else the job that ran last.
  var id: JobID?
  var follows: Bool
}

extension OptionName {
  fileprivate static var follow: Self { Self("follow") }
}

extension LogCommand: Subcommand {
  static let name = "log"

  static let spec = CommandSpec(
    name: name,
    summary: "print a job's output",
    synopsis: ["log [-f] [options] [ID]"],
    description: [
      """
      Prints the standard output and the standard error of the job in the order written. Without \
      an id, prints the output of the running job, or else of the job that ran last. For a running \
      job, prints the output so far.
      """,
      """
      With -f, waits for a queued job to start, prints its output as it is written, and ends with \
      the job. Without an id, -f follows the queue from job to job.
      """,
    ],
    options: [
      .queue,
      OptionSpec(.follow, short: "f", help: "Continues to print as the output grows."),
    ],
    operands: .jobID,
    examples: [
      Example("serialq log 12", "the output of job 12"),
      Example("serialq log", "the output of the running or last job"),
      Example("serialq log -f", "the output of the queue, live"),
    ]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(queue: queue, id: try words.id(), follows: words.has(.follow))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    if follows, self.id == nil {
      try followQueue(in: &session)
      return .success
    }
    let id = if let id = self.id { id } else { try lastJob(in: &session) }
    let (folder, job) = try session.readJob(id, in: self.queue)
    if follows, !job.state.isOver {
      try follow(.job(id), in: folder, &session)
      return .success
    }
    if job.state == .waiting {
      throw Failure(
        "the log of job \(id)", "it has not run yet",
        next: "Wait for it: serialq log\(QueueName.option(for: self.queue)) -f \(id)")
    }
    var log = LogReader(folder.log(id))
    try log.printOnce(to: &session.output)
    return .success
  }

  /// The job that is running or ran last; reports its id on a terminal.
  private func lastJob(in session: inout Session) throws(Failure) -> JobID {
    guard let job = try session.readQueue(named: queue)?.1.lastStarted else {
      throw Failure(
        "log", "no job of queue \(queue) has run yet",
        next: "Follow them: serialq log\(QueueName.option(for: queue)) -f")
    }
    if session.messageTraits.isTerminal {
      session.output.message("serialq: job \(job.id): \(job.title)")
    }
    return job.id
  }

  private func followQueue(in session: inout Session) throws(Failure) {
    // An empty queue has nothing to follow, and its folders may not exist yet.
    let found = try session.readQueue(named: self.queue)
    guard let (folder, queue) = found, !queue.running.isEmpty || queue.count(.waiting) > 0 else {
      if session.messageTraits.isTerminal {
        session.output.message(
          """
          serialq: queue \(self.queue) has nothing to follow; list its jobs: \
          serialq list\(QueueName.option(for: self.queue))
          """)
      }
      return
    }
    try follow(.queue, in: folder, &session)
  }

  private func follow(
    _ subject: Follower.Subject, in folder: QueueFolder, _ session: inout Session
  ) throws(Failure) {
    let style = Follower.OutputStyle(
      isTalkative: subject == .queue && session.messageTraits.isTerminal,
      sharesTerminal: session.traits.isTerminal)
    var follower = try Follower(folder, subject, style)
    if !follower.isAtEnd {
      try session.refuseOwnQueue("log -f", follower.queue, named: follower.queueName)
    }
    let hasRunner = try RunnerLock.isHeld(folder)
    if !follower.isAtEnd && !hasRunner {
      let name = folder.name.text
      session.output.message(
        """
        serialq: queue \(name) has no active runner; start one with: serialq \
        run\(QueueName.option(for: name))
        """)
    }
    try follower.advance(&session.output)
    while !follower.isAtEnd && !session.output.readerIsGone {
      try follower.wait()
      try follower.advance(&session.output)
    }
  }
}
