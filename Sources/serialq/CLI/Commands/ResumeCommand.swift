import SerialqQueue
import SerialqSystem

/// `serialq resume`: ends pauses and starts runners.
struct ResumeCommand: Equatable {
  var queues: QueueSelection
}

extension ResumeCommand: Subcommand {
  static let name = "resume"

  static let spec = CommandSpec(
    name: name,
    summary: "continue after a pause, a stop or a reboot",
    synopsis: ["resume [options]"],
    description: ["Ends the pause, and starts a background runner if jobs are waiting."],
    options: QueueSelection.options,
    operands: .none,
    examples: [
      Example("serialq resume", "the queue"),
      Example("serialq resume --all", "all queues, as after a reboot"),
    ]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(queues: try QueueSelection(parsing: words, queue: queue))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    try session.forEach(in: queues) { (name) throws(Failure) in
      let waiting = try session.change(name.text) {
        (queue, folder) throws(Failure) -> ([Event], Int) in
        (queue.isPaused ? [.resumed(at: Clock.now())] : [], queue.count(.waiting))
      } then: { (folder, queue) throws(Failure) in
        try session.startRunner(folder, queue)
      }
      session.confirm("serialq: queue \(name.text) resumed; \(waiting) waiting")
    }
    return .success
  }
}
