import SerialqQueue
import SerialqSystem
import SerialqWatch

/// `serialq retry`: adds finished jobs to the queue again.
struct RetryCommand: Equatable {
  var queue: String
  /// Empty for all open jobs.
  var jobs: JobSelection
  var isFirst: Bool
}

extension RetryCommand: Subcommand {
  static let spec = CommandSpec(
    name: .retry,
    summary: "queue finished jobs again",
    synopsis: ["retry [options] ID...", "retry [options] --failed"],
    description: [
      """
      The job waits again with the same id, command, directory and environment, and with all its \
      --retries. Its next run counts as its next attempt and replaces its log. Waiting jobs that \
      run --after it move behind it, except those that were retried without their conditions.
      """,
      """
      --failed selects all open jobs: those that failed or were skipped and are not acknowledged, \
      in their order.
      """,
    ],
    options: [
      .queue,
      OptionSpec(.failed, help: "All open jobs: failures and skipped jobs."),
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
    self.init(queue: queue, jobs: try words.jobs(or: [.failed]), isFirst: words.has(.first))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    var changed = Queue()
    let jobs = try session.change(self.queue) { (changes, _) throws(Failure) in
      let queue = changes.queue
      let jobs =
        self.jobs.isEmpty ? queue.openJobs : try queue.jobs(self.jobs, in: self.queue)
      if let job = jobs.first(where: { !$0.state.isOver }) {
        let option = QueueName.option(for: self.queue)
        let (state, next) =
          job.state == .waiting
          ? ("it is already waiting", "To run it next: \(serialq) move\(option) \(job.id) --first")
          : ("it is running", "Wait for its end: \(serialq) wait\(option) \(job.id)")
        throw Failure("job \(job.id)", state, next: "Nothing was queued again. \(next)")
      }
      changes.retry(jobs, first: isFirst)
      return jobs
    } then: { (folder, queue) throws(Failure) in
      changed = queue
      try session.startRunner(folder, queue)
    }
    if jobs.isEmpty {
      session.confirm("serialq: no job of queue \(self.queue) is open")
      return .success
    }
    session.confirm("serialq: \(jobs.text) queued again")
    let free = jobs.compactMap { changed.job($0.id) }.filter(\.ignoresConditions)
    if !free.isEmpty {
      session.confirm("The results of other jobs do not matter this time to \(free.text).")
    }
    let left = changed.openJobs.filter { skipped in
      skipped.state == .skipped && jobs.contains { $0.id == skipped.skippedBecause }
    }
    if !left.isEmpty {
      let option = QueueName.option(for: self.queue)
      session.confirm(
        "Still skipped: \(left.text). Run them too: \(serialq) retry\(option) --failed")
    }
    if changed.isPaused { session.reportPaused(self.queue) }
    return .success
  }
}
