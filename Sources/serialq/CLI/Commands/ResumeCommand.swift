import SerialqQueue
import SerialqSystem

/// `serialq resume`: ends pauses, continues suspended jobs and starts runners.
struct ResumeCommand: Equatable {
  var queues: QueueSelection
}

extension ResumeCommand: Subcommand {
  static let spec = CommandSpec(
    name: .resume,
    summary: "continue after a pause or a stop by a failure",
    synopsis: ["resume [options]"],
    description: [
      """
      Ends the pause, continues the job that pause --now suspended, and starts a background runner \
      if jobs are waiting.
      """
    ],
    options: QueueSelection.options,
    operands: .none,
    examples: [
      Example("serialq resume", "the queue"),
      Example("serialq resume --all", "all queues, whatever paused them"),
    ]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(queues: try QueueSelection(parsing: words, queue: queue))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    try session.forEach(in: queues) { (name) throws(Failure) in
      let (waiting, suspended, wasPaused) = try session.change(name.text) {
        (queue, folder) throws(Failure) -> ([Entry], (Int, [Job], Bool)) in
        let clocks = Clock.reading()
        let suspended = queue.suspended
        var (changes, memory) = (QueueChanges(queue), queue.memory)
        memory.pause = nil
        if queue.isPaused { changes.append(.queue(memory)) }
        for job in suspended { changes.change(job.id) { $0.continued(at: clocks) } }
        return (changes.entries, (queue.count(.waiting), suspended, queue.isPaused))
      } then: { (folder, queue) throws(Failure) in
        try session.startRunner(folder, queue)
      }
      let jobs = suspended.map { "job \($0.id) continues; " }.joined()
      let what = wasPaused || !suspended.isEmpty ? "resumed" : "was not paused"
      session.confirm("serialq: queue \(name.text) \(what); \(jobs)\(waiting) waiting")
    }
    return .success
  }
}
