import SerialqQueue
import SerialqSystem

/// `serialq retry`: adds finished jobs to the queue again.
struct RetryCommand: Equatable {
  var queue: String
  /// Empty for all failures.
  var ids: [ClosedRange<JobID>]
  var isFirst: Bool
}

extension RetryCommand: Subcommand {
  static let name = "retry"

  static let spec = CommandSpec(
    name: name,
    summary: "queue finished jobs again",
    synopsis: ["retry [options] ID...", "retry [options] --failed"],
    description: [
      """
      The job waits again with the same id, command, directory and environment. Its next run \
      counts as its next attempt and replaces its log.
      """,
      """
      --failed selects all open failures and the jobs that were skipped because of them, in their \
      order.
      """,
    ],
    options: [
      .queue,
      OptionSpec(.failed, help: "All open failures and the jobs skipped because of them."),
      OptionSpec(.first, help: "Puts the jobs before all waiting jobs, not at the end."),
    ],
    operands: .jobIDs,
    examples: [
      Example("serialq retry 12", "job 12, at the end"),
      Example("serialq retry --failed --first", "all failures, next"),
    ]
  )

  static func takes(_ job: Job) -> Bool { job.state.isOver }

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(queue: queue, ids: try words.ids(or: [.failed]), isFirst: words.has(.first))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    let (jobs, isPaused) = try session.change(self.queue) {
      (queue, folder) throws(Failure) -> ([Event], ([Job], Bool)) in
      let jobs =
        ids.isEmpty ? queue.openFailuresAndSkipped : try queue.jobs(ids, in: self.queue)
      if let job = jobs.first(where: { !$0.state.isOver }) {
        let option = QueueName.option(for: self.queue)
        let (state, next) =
          job.state == .waiting
          ? ("it is already waiting", "To run it next: serialq move\(option) \(job.id) --first")
          : ("it is running", "Wait for its end: serialq wait\(option) \(job.id)")
        throw Failure("job \(job.id)", state, next: "Nothing was queued again. \(next)")
      }
      return (Queue.retryEvents(jobs, first: isFirst, at: Clock.now()), (jobs, queue.isPaused))
    } then: { (folder, queue) throws(Failure) in
      try session.startRunner(folder, queue)
    }
    if jobs.isEmpty {
      session.confirm("serialq: no failure is open")
      return .success
    }
    session.confirm("serialq: \(jobs.text) queued again")
    if isPaused { session.reportPaused(self.queue) }
    return .success
  }
}
