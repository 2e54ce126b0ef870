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
      let before = try session.change(name) { (changes, _) throws(Failure) in
        let (before, clocks) = (changes.queue, Clock.reading())
        var properties = before.properties
        properties.pause = nil
        if before.isPaused { changes.append(.queue(properties)) }
        for job in before.suspended { changes.change(job.id) { $0.continued(at: clocks) } }
        return before
      } then: { (folder, queue) throws(Failure) in
        try session.startRunner(folder, queue)
      }
      let jobs = before.suspended.map { "job \($0.id) continues; " }.joined()
      let what = before.isPaused || !jobs.isEmpty ? "resumed" : "was not paused"
      session.confirm(
        "serialq: queue \(name) \(what); \(jobs)\(before.count(.waiting)) waiting")
    }
    return .success
  }
}
