import SerialqQueue
import SerialqRunner
import SerialqSystem
import SerialqWatch

/// `serialq cancel`: cancels waiting jobs and terminates running ones.
struct CancelCommand: Equatable {
  enum Jobs: Equatable {
    case selected(JobSelection)
    /// Waiting and running jobs.
    case all
    case running
  }

  var queue: String
  var jobs: Jobs
  var signal: Int32?
}

extension CancelCommand: Subcommand {
  static let spec = CommandSpec(
    name: .cancel,
    summary: "cancel waiting jobs, or end running ones",
    synopsis: ["cancel [options] ID...", "cancel [options] --all", "cancel [options] --running"],
    description: [
      """
      A waiting job leaves the queue without running, and the --if-ok jobs that directly follow \
      it are skipped. Jobs that run --after it are skipped when their turn comes. All processes \
      of a running job receive SIGTERM, and SIGKILL 10 seconds later.
      """,
      """
      Returns without waiting for the end of the job: serialq wait ID does that. If the runner of \
      the job died, starts another, which then runs the waiting jobs. Fails if there is nothing \
      to cancel.
      """,
    ],
    options: [
      .queue,
      OptionSpec(.all, help: "All waiting and running jobs."),
      OptionSpec(.running, help: "The running job."),
      OptionSpec(
        .signal, value: OptionValue(.signal, "SIGNAL"),
        help: "Sends this signal instead of SIGTERM. KILL ends a job at once."
      ),
    ],
    operands: .jobIDs,
    examples: [
      Example("serialq cancel 12", "job 12"),
      Example("serialq cancel --running --signal INT", "the signal of Ctrl-C in a terminal"),
    ]
  )

  static func takes(_ job: Job) -> Bool { !job.state.isOver }

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    let selected = try words.someJobs(or: [.all, .running])
    let jobs: Jobs = words.has(.all) ? .all : words.has(.running) ? .running : .selected(selected)
    self.init(
      queue: queue, jobs: jobs, signal: words.value(.signal).flatMap(SignalName.number))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    let signal = self.signal ?? SIGTERM
    let jobs = try session.change(self.queue) { (changes, _) throws(Failure) in
      let (jobs, clocks) = (try wanted(in: changes.queue), Clock.reading())
      changes.cancel(jobs.filter { $0.state == .waiting }.map(\.id), at: clocks.date)
      for job in jobs { changes.change(job.id) { $0.requested(signal, at: clocks) } }
      return jobs
    } then: { (folder, queue) throws(Failure) in
      // Only a runner terminates an orphaned job and records its end.
      if !queue.running.isEmpty { try BackgroundRunner.own.ensure(folder) }
    }
    let waiting = jobs.filter { $0.state == .waiting }
    if !waiting.isEmpty { session.confirm("serialq: cancelled \(waiting.text)") }
    guard let job = jobs.first(where: { $0.state == .running }) else { return .success }
    let kill = "End it at once: \(advised("cancel", in: self.queue)) --signal KILL \(job.id)"
    session.confirm(
      """
      serialq: job \(job.id) is \(job.isCancelRequested ? "already " : "")being ended \
      with \(SignalName.of(signal))\
      \(signal == SIGKILL ? "" : ", and with SIGKILL after 10 seconds\n\(kill)")
      Wait for its end: \(advised("wait", in: self.queue)) \(job.id)
      """)
    return .success
  }

  private func wanted(in queue: Queue) throws(Failure) -> [Job] {
    let running = queue.running.compactMap(queue.job)
    switch self.jobs {
    case .running:
      guard !running.isEmpty else { throw queue.nothing("running", in: self.queue) }
      return running
    case .all:
      let jobs = running + queue.waiting
      guard !jobs.isEmpty else { throw queue.nothing("waiting or running", in: self.queue) }
      return jobs
    case .selected(let selection):
      let jobs = try queue.jobs(selection, in: self.queue)
      if let job = jobs.first(where: \.state.isOver) {
        throw Failure(
          "job \(job.id)", "it has finished: it \(job.outcomeText)",
          next: """
            Nothing was cancelled. List the jobs: \
            \(advised("list", in: self.queue)) --state waiting
            """)
      }
      return jobs
    }
  }
}
