import SerialqQueue
import SerialqSystem

/// `serialq pause`: starts no further job; running jobs continue.
struct PauseCommand: Equatable {
  var queues: QueueSelection
}

extension PauseCommand: Subcommand {
  static let name = "pause"

  static let spec = CommandSpec(
    name: name,
    summary: "let the running job finish, start no other",
    synopsis: ["pause [options]"],
    description: [
      "Jobs can still be added; they wait until serialq resume. A pause survives a reboot."
    ],
    options: QueueSelection.options,
    operands: .none,
    examples: [Example("serialq pause", "the queue"), Example("serialq pause --all", "all queues")]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(queues: try QueueSelection(parsing: words, queue: queue))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    try session.forEach(in: queues) { (name) throws(Failure) in
      // A queue can be paused before its first job.
      let folder = try session.spool().makeQueue(named: name)
      let isNews = try Journal(folder).locked { (scope) throws(Failure) in
        let isNews = try !scope.isPaused()
        try scope.append(isNews ? [.paused(at: Clock.now(), because: nil)] : [])
        return isNews
      }
      session.confirm("serialq: queue \(name.text) is \(isNews ? "now" : "already") paused")
    }
    return .success
  }
}
