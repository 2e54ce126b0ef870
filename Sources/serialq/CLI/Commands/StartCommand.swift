import SerialqRunner
import SerialqSystem

/// `serialq start`: starts the runners that are missing; ends no pause.
struct StartCommand: Equatable {
  var queues: QueueSelection
}

extension StartCommand: Subcommand {
  static let spec = CommandSpec(
    name: .start,
    summary: "start a background runner if there is work",
    synopsis: ["start [options]"],
    description: [
      """
      Starts a background runner if jobs are waiting and none is active, as after a reboot. A \
      pause continues until serialq resume.
      """
    ],
    options: QueueSelection.options,
    examples: [
      Example("serialq start", "the queue"),
      Example("serialq start --all", "all queues that are not paused"),
    ]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(queues: try QueueSelection(parsing: words, queue: queue))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    try session.forEach(in: queues) { (name) throws(Failure) in
      let (queue, wasActive) = try session.change(name) {
        (changes, scope) throws(Failure) in
        // Under the journal's lock: a runner without work ends only under it.
        (changes.queue, try RunnerLock.isHeld(scope.folder))
      } then: { (folder, queue) throws(Failure) in
        try session.startRunner(folder, queue)
      }
      let waiting = queue.count(.waiting)
      if queue.hasWork {
        let what = wasActive ? "already has a runner" : "has a new runner"
        session.confirm("serialq: queue \(name) \(what); \(waiting) waiting")
      } else if waiting == 0 {
        session.confirm("serialq: queue \(name) has no work: no runner is needed")
      }
      if queue.isPaused, waiting > 0 { session.reportPaused(name) }
    }
    return .success
  }
}
