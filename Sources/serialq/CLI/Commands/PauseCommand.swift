import SerialqQueue
import SerialqRunner
import SerialqSystem

/// `serialq pause`: starts no further job; running jobs continue, except with `--now`.
struct PauseCommand: Equatable {
  var queues: QueueSelection
  /// Whether the running job is suspended.
  var isNow = false
}

extension PauseCommand: Subcommand {
  static let spec = CommandSpec(
    name: .pause,
    summary: "let the running job finish, start no other",
    synopsis: ["pause [options]"],
    description: [
      "Jobs can still be added; they wait until serialq resume. A pause survives a reboot.",
      """
      With --now, also suspends the running job: all of its processes are stopped, whatever group \
      or session they have moved to, until serialq resume. Returns without waiting for that. \
      A suspended job can be cancelled, and a time limit does not count the time.
      """,
    ],
    options: QueueSelection.options + [
      OptionSpec(.now, help: "Suspends the running job, with SIGSTOP.")
    ],
    examples: [
      Example("serialq pause", "the queue"),
      Example("serialq pause --now", "and the running job"),
      Example("serialq pause --all", "all queues"),
    ]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(queues: try QueueSelection(parsing: words, queue: queue), isNow: words.has(.now))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    try session.forEach(in: queues) { (name) throws(Failure) in
      // A queue can be paused before its first job.
      let isNew = try session.spool().makeQueue(named: name).isNew
      let (isNews, running) = try session.change(name) { (changes, _) throws(Failure) in
        try pause(&changes, named: name)
      } then: { (folder, queue) throws(Failure) in
        // Only a runner suspends an orphaned job.
        if isNow, !queue.suspended.isEmpty { try BackgroundRunner.own.ensure(folder) }
      }
      let jobs = running.map { job in
        if job.isCancelRequested { return "; job \(job.id) is being ended" }
        return "; job \(job.id) is \(job.suspendedSince == nil ? "" : "already ")suspended"
      }
      let paused = "is \(isNews ? "now" : "already") paused\(jobs.joined())"
      let text = "serialq: \(isNew ? "the new queue" : "queue") \(name) \(paused)"
      // The name may be mistyped.
      if isNew, let others = session.namesOfQueuesWithJobs() {
        session.output.message("\(text); queues with jobs: \(others)")
      } else {
        session.confirm(text)
      }
    }
    return .success
  }

  /// Returns whether the queue was not paused, and the jobs that are suspended or have been.
  private func pause(
    _ changes: inout QueueChanges, named name: String
  ) throws(Failure) -> (Bool, [Job]) {
    let (queue, clocks) = (changes.queue, Clock.reading())
    let running = isNow ? queue.running.compactMap(queue.job) : []
    if let job = running.first(where: { $0.execution?.launch != nil }) {
      throw Failure(
        "job \(job.id)", "its launcher executes it elsewhere, where it cannot be suspended",
        next: "Nothing was changed. To start no other job: \(advised("pause", in: name))")
    }
    if !queue.isPaused { changes.append(.queue(queue.paused(at: clocks.date))) }
    for job in running { changes.change(job.id) { $0.suspended(at: clocks) } }
    return (!queue.isPaused, running)
  }
}
