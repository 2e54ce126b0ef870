import SerialqQueue
import SerialqSystem

/// `serialq move`: reorders waiting jobs.
struct MoveCommand: Equatable {
  var queue: String
  var id: JobID
  var place: Place
}

extension OptionName {
  fileprivate static var before: Self { Self("before") }
}

extension MoveCommand: Subcommand {
  static let name = "move"

  static let spec = CommandSpec(
    name: name,
    summary: "reorder the waiting jobs",
    synopsis: [
      "move [options] ID --first", "move [options] ID --last", "move [options] ID --before ID",
    ],
    description: ["Moves a waiting job to another place among the waiting jobs."],
    options: [
      .queue,
      OptionSpec(.first, help: "Before all other waiting jobs."),
      OptionSpec(.last, help: "After all other waiting jobs."),
      OptionSpec(
        .before, value: OptionValue(.jobID, "ID"), help: "Directly before another waiting job."),
    ],
    operands: .jobID,
    examples: [
      Example("serialq move 12 --first", "job 12 runs next"),
      Example("serialq move 12 --before 9", "job 12 runs before job 9"),
    ]
  )

  static func takes(_ job: Job) -> Bool { job.state == .waiting }

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(queue: queue, id: try words.oneID(), place: try Self.place(words))
  }

  private static func place(_ words: ParsedArguments) throws(Failure) -> Place {
    let given = [OptionName.first, .last, .before].filter(words.has)
    guard let name = given.first, given.count == 1 else {
      throw words.misused("move", "give one of --first, --last and --before ID")
    }
    switch name {
    case .first: return .first
    case .last: return .last
    default: return .before(words.number(.before) ?? 0)
    }
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    let option = QueueName.option(for: self.queue)
    try session.change(self.queue) { (queue, folder) throws(Failure) -> ([Event], Void) in
      for id in [self.id] + (place.neighbor.map { [$0] } ?? []) {
        let job = try queue.jobs([id...id], in: self.queue)[0]
        guard job.state == .waiting else {
          throw Failure(
            "job \(id)", "it is not waiting: it \(job.outcomeText)",
            next: "Nothing was moved. List the waiting jobs: serialq list\(option) --state waiting")
        }
      }
      guard place.neighbor != self.id else {
        throw Failure(
          "job \(self.id)", "it cannot be put before itself",
          next: "Nothing was moved. List the waiting jobs: serialq list\(option) --state waiting")
      }
      return ([.moved(id: self.id, at: Clock.now(), place: place)], ())
    }
    switch place {
    case .first: session.confirm("serialq: job \(self.id) runs next")
    case .before(let id): session.confirm("serialq: job \(self.id) runs before job \(id)")
    case .last, .after: session.confirm("serialq: job \(self.id) runs last")
    }
    return .success
  }
}
