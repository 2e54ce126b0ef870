import SerialqQueue
import SerialqSystem

/// `serialq ack`: acknowledges failures.
struct AckCommand: Equatable {
  var queue: String
  /// Empty for all failures.
  var ids: [ClosedRange<JobID>]
}

extension AckCommand: Subcommand {
  static let name = "ack"

  static let spec = CommandSpec(
    name: name,
    summary: "acknowledge failures",
    synopsis: ["ack [options] ID...", "ack [options] --all"],
    description: [
      """
      A failure is open until its job is acknowledged, retried or cleaned. serialq status shows \
      open failures first, and serialq wait without ids fails while there is one.
      """
    ],
    options: [.queue, OptionSpec(.all, help: "All open failures.")],
    operands: .jobIDs,
    examples: [
      Example("serialq ack 12", "the failure of job 12"),
      Example("serialq ack --all", "all failures"),
    ]
  )

  static func takes(_ job: Job) -> Bool { job.isOpenFailure }

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(queue: queue, ids: try words.ids(or: [.all]))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    let jobs = try session.change(self.queue) {
      (queue, folder) throws(Failure) -> ([Event], [Job]) in
      let jobs = ids.isEmpty ? queue.openFailures : try queue.jobs(ids, in: self.queue)
      if let job = jobs.first(where: { !$0.state.isFailure }) {
        throw Failure(
          "job \(job.id)", "it did not fail: it \(job.outcomeText)",
          next: """
            Nothing was acknowledged. List the failures: serialq \
            list\(QueueName.option(for: self.queue)) --failed
            """)
      }
      let open = jobs.filter(\.isOpenFailure)
      return (open.map { .acknowledged(id: $0.id, at: Clock.now()) }, open)
    }
    session.confirm(
      jobs.isEmpty ? "serialq: no failure is open" : "serialq: acknowledged \(jobs.text)")
    return .success
  }
}
