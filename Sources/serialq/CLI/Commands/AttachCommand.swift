import SerialqQueue
import SerialqSystem
import SerialqWatch

/// `serialq attach`: connects the user's terminal to a job's.
struct AttachCommand: Equatable {
  var queue: String
  /// If empty, selects the running job, or else the next one that gets a terminal.
  var job: JobSelection
  var detachKey = ControlKey.backslash
}

extension AttachCommand: Subcommand {
  static let spec = CommandSpec(
    name: .attach,
    summary: "use the terminal of a job",
    synopsis: ["attach [options] [ID]"],
    description: [
      #"""
      Connects this terminal to that of a job that was added with -t: the job's output appears \#
      here, and what is typed goes to the job, also Ctrl-C and Ctrl-Z. Ctrl-\ leaves, and the job \#
      continues. Without an id, takes the running job, or else the next one with a terminal.
      """#,
      #"""
      Waits for the job to start, stays until it is over, also through automatic retries, and \#
      exits as wait does with this id; after Ctrl-\ with 0. Fails for a job that is over already, \#
      and for one without a terminal, which log -f follows.
      """#,
      """
      Several terminals can show a job. The keys of the one that attached last reach it, and the \
      job has its size.
      """,
    ],
    options: [
      .queue,
      OptionSpec(
        .detachKey, value: OptionValue(.key, "KEY"),
        help: #"The key that leaves, such as ^] or C-a, in place of ^\."#
      ),
    ],
    operands: .jobID,
    examples: [
      Example("serialq attach", "the running job"),
      Example("serialq attach 7", "job 7, also if it still waits"),
      Example("serialq attach --detach-key '^]' psql", "the latest job with this label"),
    ]
  )

  static func takes(_ job: Job) -> Bool { !job.state.isOver }

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(queue: queue, job: words.operands.isEmpty ? JobSelection() : try words.oneJob())
    if let key = words.value(.detachKey).flatMap(KeyName.key) { detachKey = key }
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    guard let (folder, found) = try session.readQueue(named: queue) else {
      throw session.noJobs(in: queue)
    }
    let job = try selectedJob(of: found, in: session)
    let input = TerminalTraits(of: STDIN_FILENO, variable: Machine.variable)
    guard input.isTerminal, session.traits.isTerminal else {
      throw Failure(
        "attach", "standard input and standard output must be a terminal",
        next: "Follow the output: \(advised("log", in: queue)) -f \(job.id)")
    }
    try refuse(job, of: found)
    let mark = try session.willWait("attach", for: job.id, found, folder)
    defer { withExtendedLifetime(mark) {} }
    var wait = try AttachWait(for: job.id, in: folder, leavingBy: detachKey)
    return try wait.run(in: &session)
  }

  private func selectedJob(of queue: Queue, in session: Session) throws(Failure) -> Job {
    if !job.isEmpty { return try queue.job(job, in: self.queue) }
    if let job = queue.running.first.flatMap(queue.job) { return job }
    if let job = queue.waiting.first(where: queue.givesTerminal) { return job }
    throw Failure(
      "attach", "no job of queue \(self.queue) runs, and none with a terminal waits",
      next: (queue.jobs.isEmpty ? session.queuesWithJobs() : nil)
        ?? "Add one with: \(advised("add", in: self.queue)) -t")
  }

  private func refuse(_ job: Job, of queue: Queue) throws(Failure) {
    guard job.state.isOver else { return try queue.requireTerminal(of: job, named: self.queue) }
    throw Failure(
      "job \(job.id)", "it \(job.outcomeText)",
      next: "See its output: \(advised("log", in: self.queue)) \(job.id)")
  }
}

extension Queue {
  /// Fails if a job that is not over has no terminal, and will not get one.
  func requireTerminal(of job: Job, named name: String) throws(Failure) {
    let isRunning = job.state == .running
    guard !(isRunning ? job.hadTerminal : givesTerminal(to: job)) else { return }
    throw Failure(
      "job \(job.id)", isRunning ? "it has no terminal" : "it will have no terminal",
      next: """
        Follow its output: \(advised("log", in: name)) -f \(job.id)
        A job has one if it is added with: \(advised("add", in: name)) -t
        """)
  }
}
