import SerialqQueue
import SerialqRunner
import SerialqSystem
import SerialqWatch

/// `serialq` and `serialq status`: shows the state of a queue or of all, failures first, and
/// suggests commands.
struct StatusCommand: Equatable {
  var queues: QueueSelection
  /// Refreshes the output until interrupted.
  var watches = false
  var json: Bool
}

extension StatusCommand: Subcommand {
  static let spec = CommandSpec(
    name: .status,
    summary: "show failures, the running job and the progress",
    synopsis: ["[status] [options]"],
    description: [
      """
      serialq without a command does the same. Shows open jobs first: failures, with the end of \
      their output, and skipped jobs. Then come the running job, the waiting ones, N of M done, \
      where M counts the jobs since the queue was last idle, the time left, and useful commands.
      """,
      """
      Of an idle queue it shows when those jobs finished, and how long that took from the first \
      start; of a job that ran again, only the last attempt counts.
      """,
      """
      With --all, shows each queue that has jobs, below its name. A queue that cannot be read is \
      reported, and the exit code is 125.
      """,
      """
      With -w, updates the display on a terminal; otherwise prints the status once, and then a line \
      for each change of a job. Both until Ctrl-C or another signal ends it. The exit code is 0 for \
      any result of the jobs: wait returns theirs.
      """,
    ],
    options: QueueSelection.options + [
      OptionSpec(.watch, short: "w", help: "Updates the display until interrupted."),
      OptionSpec(
        .json, help: "Prints the counts and the running job as JSON, with --all an array."),
    ],
    examples: [
      Example("serialq", "the status of the queue"),
      Example("serialq -w", "the live display"),
      Example("serialq status -q video", "of another queue"),
      Example("serialq -w --all", "of all queues, live"),
    ]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    try words.refuse(.watch, with: .json)
    self.init(
      queues: try QueueSelection(parsing: words, queue: queue), watches: words.has(.watch),
      json: words.has(.json))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    if watches { return try session.watchStatus(of: queues) }
    var documents: [(inout JSONWriter) -> Void] = []
    var page = StatusPage(namesQueues: queues == .all)
    var faults: [Failure] = []
    for name in try queues.names(in: try session.spool()) {
      do throws(Failure) {
        let found = try session.readQueue(named: name)
        if json {
          let folder = try session.spool().folder(named: name)
          documents.append(try members(of: found?.1 ?? Queue(), folder))
        } else if let report = try report(found, of: name, in: session) {
          page.reports.append(report)
        }
      } catch {
        if queues != .all { throw error }
        documents.append { json in
          json.member("queue", Bytes(name.utf8))
          json.member("error", Bytes(error.sentence.utf8))
        }
        faults.append(error)
      }
    }
    if json {
      session.result(json: document(documents))
    } else if faults.isEmpty || !page.reports.isEmpty {
      show(page, in: &session)
    }
    try session.output.flush()
    try session.fail(by: faults)
    return .success
  }

  private func show(_ page: StatusPage, in session: inout Session) {
    let advice = page.advice
    let columns = session.traits.isLive ? session.traits.width : nil
    // Without a command in it.
    let idle = page.reports.filter { $0.waiting == nil && $0.running.isEmpty }
    let summaries = idle.flatMap { $0.summary(columns) }
    for line in page.lines(columns: columns) {
      // Truncates commands, which can be very long, but never a suggested command line or a count.
      var fitted = [line]
      if let width = session.traits.width, !advice.contains(line) {
        fitted = summaries.contains(line) ? line.wrapped(to: width) : [line.fitted(to: width)]
      }
      for line in fitted {
        session.output.result(line.rendered(color: session.traits.hasColor) + "\n")
      }
    }
  }

  /// The report of a queue; nil if it has no jobs and is one of several.
  private func report(
    _ found: (QueueFolder, Queue)?, of name: String, in session: Session
  ) throws(Failure) -> StatusReport? {
    guard let (folder, queue) = found, !queue.jobs.isEmpty else {
      if queues == .all { return nil }
      let names = try session.spool().queueNames()
      return StatusReport(
        empty: name, hasOthers: names.contains { $0 != name },
        others: session.queuesWithJobs(), isPaused: found?.1.isPaused ?? false)
    }
    return try StatusReport(folder, queue, QueueProgress(queue))
  }

  private func document(_ documents: [(inout JSONWriter) -> Void]) -> Bytes {
    func write(_ json: inout JSONWriter) {
      for members in documents {
        json.object { json in
          json.member("version", 1)
          members(&json)
        }
      }
    }
    return JSONWriter.line { if queues == .all { $0.array(write) } else { write(&$0) } }
  }

  private func members(
    of queue: Queue, _ folder: QueueFolder
  ) throws(Failure) -> (inout JSONWriter) -> Void {
    let report = try StatusReport(folder, queue, QueueProgress(queue))
    let damaged = try folder.hasDamagedLines() ? folder.damaged : nil
    return { json in
      json.member("queue", Bytes(folder.name.utf8))
      if queues == .all { json.member("error", nil as Bytes?) }
      json.member("paused", queue.isPaused)
      json.member("runner", report.hasRunner)
      json.key("obstacle")
      if let (reason, job) = report.obstacle {
        json.object { json in
          json.member("reason", Bytes(reason.rawValue.utf8))
          json.member("job", job)
        }
      } else {
        json.null()
      }
      json.member("damaged", damaged)
      json.member("openFailures", queue.openCount)
      json.member("onIdleFailure", failure: queue.properties.idleHookFailure)
      json.key("counts")
      queue.writeCounts(to: &json)
      json.key("running")
      if let job = queue.running.first.flatMap(queue.job) {
        job.write(to: &json, in: folder, of: queue)
      } else {
        json.null()
      }
    }
  }
}
