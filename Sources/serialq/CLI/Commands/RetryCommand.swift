import SerialqQueue
import SerialqSystem
import SerialqWatch

/// `serialq retry`: adds finished jobs to the queue again.
struct RetryCommand: Equatable {
  var queue: String
  /// Empty for all open jobs.
  var jobs: JobSelection
  /// Instead, all jobs that did not succeed, cancelled ones too.
  var all = false
  var isFirst: Bool
}

extension RetryCommand: Subcommand {
  static let spec = CommandSpec(
    name: .retry,
    summary: "queue finished jobs again",
    synopsis: ["retry [options] ID...", "retry [options] --failed", "retry [options] --all"],
    description: [
      """
      The job waits again with the same id, command, directory and environment, and with all its \
      --retries. Its next run counts as its next attempt and replaces its log.
      """,
      """
      Open skipped jobs follow it if it caused the skip, or if they run --after it. Waiting jobs \
      that run --after it move behind it and them, except those that were retried without their \
      conditions.
      """,
      """
      --failed selects all open jobs: those that failed or were skipped and are not acknowledged, \
      by their ids. --all selects all that did not succeed, also those that were cancelled or \
      are acknowledged. Fails if there is none.
      """,
    ],
    options: [
      .queue,
      OptionSpec(.failed, help: "All open jobs: failures and skipped jobs."),
      OptionSpec(.all, help: "All jobs that did not succeed, cancelled ones too."),
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
    self.init(
      queue: queue, jobs: try words.someJobs(or: [.failed, .all]), all: words.has(.all),
      isFirst: words.has(.first))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    var changed = Queue()
    var skipped: [Job] = []
    let jobs = try session.change(self.queue) { (changes, _) throws(Failure) in
      let queue = changes.queue
      let jobs =
        all
        ? queue.jobs.filter { $0.state.isOver && $0.state != .succeeded }
        : self.jobs.isEmpty ? queue.openJobs : try queue.jobs(self.jobs, in: self.queue)
      guard !jobs.isEmpty else {
        throw queue.nothing(all ? "without success" : "open", in: self.queue)
      }
      if let job = jobs.first(where: { !$0.state.isOver }) {
        let (move, wait) = (advised("move", in: self.queue), advised("wait", in: self.queue))
        let (state, next) =
          job.state == .waiting
          ? ("it is already waiting", "To run it next: \(move) \(job.id) --first")
          : ("it is running", "Wait for its end: \(wait) \(job.id)")
        throw Failure("job \(job.id)", state, next: "Nothing was queued again. \(next)")
      }
      let all = queue.withSkipped(jobs)
      let ids = Set(jobs.map(\.id))
      skipped = all.filter { !ids.contains($0.id) }
      changes.retry(all, first: isFirst)
      return jobs
    } then: { (folder, queue) throws(Failure) in
      changed = queue
      try session.startRunner(folder, queue)
    }
    let them = jobs.count == 1 ? "it" : "them"
    session.confirm("serialq: \(jobs.text) queued again\(skipped.following(them))")
    let free = jobs.compactMap { changed.job($0.id) }.filter(\.ignoresConditions)
    if !free.isEmpty {
      session.confirm("The results of other jobs do not matter this time to \(free.text).")
    }
    if changed.isPaused { session.reportPaused(self.queue) }
    return .success
  }
}

extension [Job] {
  /// A phrase to follow "queued again", if jobs that were skipped because of `them` are, too.
  func following(_ them: String) -> String {
    isEmpty ? "" : ", and after \(them) \(text), skipped before"
  }
}
