import SerialqQueue
import SerialqRunner
import SerialqSystem

/// `serialq` and `serialq status`: shows the state of a queue, failures first, and suggests
/// commands.
struct StatusCommand: Equatable {
  var queue: String
  /// Refreshes the output until interrupted.
  var watches = false
  var json: Bool
}

extension OptionName {
  fileprivate static var watch: Self { Self("watch") }
}

extension StatusCommand: Subcommand {
  static let name = "status"

  static let spec = CommandSpec(
    name: name,
    summary: "show failures, the running job and the progress",
    synopsis: ["[status] [options]"],
    description: [
      """
      serialq without a command does the same. Shows open failures first, with the end of their \
      output, then the running job, the number of waiting jobs, the progress with an estimate of \
      the remaining time, and a useful next command.
      """,
      """
      With -w, updates the display on a terminal until Ctrl-C; otherwise prints a line for each job \
      that starts or ends. The exit code is 0 for any result of the jobs: wait returns theirs.
      """,
    ],
    options: [
      .queue,
      OptionSpec(.watch, short: "w", help: "Updates the display until interrupted."),
      OptionSpec(.json, help: "Prints the counts and the running job as JSON."),
    ],
    operands: .none,
    examples: [
      Example("serialq", "the status of the queue"),
      Example("serialq -w", "the live display"),
      Example("serialq status -q video", "of another queue"),
    ]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    try words.refuseOperands()
    if words.has(.watch), words.has(.json) {
      throw words.misused("--watch", "cannot be combined with --json")
    }
    self.init(queue: queue, watches: words.has(.watch), json: words.has(.json))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    let found = try session.readQueue(named: self.queue)
    if json {
      let queue = found?.1 ?? Queue()
      session.result(json: try document(queue, try session.spool().folder(named: self.queue)))
      return .success
    }
    if watches {
      try session.watchStatus(of: self.queue)
      return .success
    }
    let report = try report(found, in: session)
    for line in report.lines(columns: session.traits.isLive ? session.traits.width : nil) {
      // Truncates commands, which can be very long, but never a suggested command line.
      let isAdvice = report.advice.contains(line)
      let fitted = isAdvice ? line : session.traits.width.map(line.fitted(to:)) ?? line
      session.output.result(fitted.rendered(color: session.traits.hasColor) + "\n")
    }
    return .success
  }

  private func report(
    _ found: (QueueFolder, Queue)?, in session: Session
  ) throws(Failure) -> StatusReport {
    guard let (folder, queue) = found, !queue.jobs.isEmpty else {
      let names = try session.spool().queueNames()
      return StatusReport(
        empty: self.queue, hasOthers: names.contains { $0 != Bytes(self.queue.utf8) })
    }
    return try StatusReport(folder, queue, QueueProgress(queue))
  }

  private func document(_ queue: Queue, _ folder: QueueFolder) throws(Failure) -> Bytes {
    let hasRunner = try RunnerLock.isHeld(folder)
    let damaged = try folder.hasDamagedLines() ? folder.damaged : nil
    return JSONWriter.line { json in
      json.member("version", 1)
      json.member("queue", folder.name)
      json.member("paused", queue.isPaused)
      json.member("runner", hasRunner)
      json.member("damaged", damaged)
      json.member("openFailures", queue.openFailureCount)
      json.key("counts")
      queue.writeCounts(to: &json)
      json.key("running")
      if let job = queue.running.first.flatMap(queue.job) {
        job.write(to: &json, log: folder.log(job.id))
      } else {
        json.null()
      }
    }
  }
}
