import SerialqQueue
import SerialqSystem
import SerialqWatch

/// `serialq ack`: acknowledges failures and skipped jobs.
struct AckCommand: Equatable {
  var queue: String
  /// Empty for all open jobs.
  var jobs: JobSelection
}

extension AckCommand: Subcommand {
  static let spec = CommandSpec(
    name: .ack,
    summary: "acknowledge failures and skipped jobs",
    synopsis: ["ack [options] ID...", "ack [options] --all"],
    description: [
      """
      A job that failed or was skipped is open until it is acknowledged, retried or cleaned. \
      serialq status shows open jobs first, and serialq wait without ids fails while there is one.
      """
    ],
    options: [.queue, OptionSpec(.all, help: "All open jobs.")],
    operands: .jobIDs,
    examples: [
      Example("serialq ack 12", "job 12"),
      Example("serialq ack --all", "all open jobs"),
    ]
  )

  static func takes(_ job: Job) -> Bool { job.isOpen }

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(queue: queue, jobs: try words.someJobs(or: [.all]))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    let jobs = try session.change(self.queue) { (changes, _) throws(Failure) in
      let queue = changes.queue
      let jobs = self.jobs.isEmpty ? queue.openJobs : try queue.jobs(self.jobs, in: self.queue)
      if let job = jobs.first(where: { !$0.state.opens }) {
        throw Failure(
          "job \(job.id)", "it did not fail and was not skipped: it \(job.outcomeText)",
          next: """
            Nothing was acknowledged. List what can be: \
            \(advised("list", in: self.queue)) --open
            """)
      }
      let open = jobs.filter(\.isOpen)
      guard !open.isEmpty else {
        guard let job = jobs.first else { throw queue.nothing("open", in: self.queue) }
        throw Failure("job \(job.id)", "acknowledged before", next: "Nothing was changed.")
      }
      for job in open { changes.change(job.id) { $0.acknowledged() } }
      return open
    }
    session.confirm("serialq: acknowledged \(jobs.text)")
    return .success
  }
}
