import SerialqQueue
import SerialqSystem
import SerialqWatch

/// `serialq move`: reorders waiting jobs.
struct MoveCommand: Equatable {
  var queue: String
  var jobs: JobSelection
  /// Where to: `first`, `last`, `before` or `after`.
  var side: OptionName
  /// The job before or after which the others come; else empty.
  var neighbor: JobSelection
}

extension MoveCommand: Subcommand {
  static let spec = CommandSpec(
    name: .move,
    summary: "reorder the waiting jobs",
    synopsis: [
      "move [options] ID... --first", "move [options] ID... --last",
      "move [options] ID... --before ID", "move [options] ID... --after ID",
    ],
    description: [
      """
      Moves waiting jobs to another place among the waiting jobs. Several jobs keep the order in \
      which they are given. Refuses to put a job before one that it waits for (--after).
      """
    ],
    options: [
      .queue,
      OptionSpec(.first, help: "Before all other waiting jobs."),
      OptionSpec(.last, help: "After all other waiting jobs."),
      OptionSpec(
        .before, value: OptionValue(.jobID, "ID"), help: "Directly before another waiting job."),
      OptionSpec(
        .after, value: OptionValue(.jobID, "ID"), help: "Directly after another waiting job."),
    ],
    operands: .jobIDs,
    examples: [
      Example("serialq move 12 --first", "job 12 runs next"),
      Example("serialq move 5-7 --after 9", "jobs 5 to 7 run after job 9"),
    ]
  )

  static func takes(_ job: Job) -> Bool { job.state == .waiting }

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    let jobs = try words.someJobs()
    let given = [OptionName.first, .last, .before, .after].filter(words.has)
    guard let name = given.first, given.count == 1 else {
      throw words.misused("move", "give one of --first, --last, --before ID and --after ID")
    }
    self.init(
      queue: queue, jobs: jobs, side: name, neighbor: JobSelection(words.value(name) ?? []))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    let (jobs, place) = try session.change(self.queue) {
      (changes, _) throws(Failure) in
      let jobs = try changes.queue.jobs(self.jobs, in: self.queue)
      let place = try self.place(in: changes.queue)
      let neighbor = place.neighbor.flatMap(changes.queue.job)
      for job in jobs + [neighbor].compactMap(\.self) where job.state != .waiting {
        throw failure("job \(job.id)", "it is not waiting: it \(job.outcomeText)")
      }
      if let neighbor, jobs.contains(where: { $0.id == neighbor.id }) {
        throw failure("job \(neighbor.id)", "it cannot be put \(side.rawValue) itself")
      }
      changes.move(jobs.map(\.id), to: place)
      if let (job, required) = changes.queue.misplaced {
        throw failure("job \(job)", "it cannot be before job \(required), after which it runs")
      }
      return (jobs, place)
    }
    let runs = jobs.count == 1 ? "runs" : "run"
    let end = side == .first ? "next" : "last"
    let goal = place.neighbor.map { "\(side.rawValue) job \($0)" } ?? end
    session.confirm("serialq: \(jobs.text) \(runs) \(goal)")
    return .success
  }

  private func place(in queue: Queue) throws(Failure) -> Place {
    if side == .first { return .first }
    if side == .last { return .last }
    do throws(Failure) {
      let id = try queue.job(neighbor, in: self.queue).id
      return side == .before ? .before(id) : .after(id)
    } catch {
      throw error.of("--\(side.rawValue)")
    }
  }

  private func failure(_ what: String, _ why: String) -> Failure {
    Failure(
      what, why,
      next: """
        Nothing was moved. List the waiting jobs: \(advised("list", in: queue)) --state waiting
        """)
  }
}
