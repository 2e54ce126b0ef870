import SerialqQueue
import SerialqSystem
import SerialqWatch

/// `serialq report`: shows when the jobs of a queue ran.
struct ReportCommand: Equatable {
  var queue: String
  /// The output file of the page, `-` for standard output; `nil` prints to the terminal.
  var page: Bytes?
  var last: Int?
}

extension ReportCommand: Subcommand {
  static let spec = CommandSpec(
    name: .report,
    summary: "draw when the jobs ran, here or as an HTML page",
    synopsis: ["report [options]"],
    description: [
      """
      Draws a line for each job, by id, along one time scale, with a different sign for each state; \
      waiting jobs come last. Cuts \
      out long times in which nothing ran, says how long they were, and marks them with a colon \
      where the line has room. Times are local.
      """,
      """
      With --html, writes a page that needs no network and no script: the timeline, the durations \
      for each label, the last \(QueueReport.mostTroubles) failures with the end of their output, \
      and totals. The page contains labels, commands and output: check it before you share it.
      """,
    ],
    details: [
      """
      The number of drawn jobs is bounded; the totals count all jobs. Earlier attempts at a job \
      are drawn until serialq shortens its journal. The duration of an interrupted job is not \
      known: only its start is drawn. Of an output, the page shows the last \
      \(QueueReport.troubleLines) lines of the last \(QueueReport.troubleBytes) bytes.
      """
    ],
    options: [
      .queue,
      OptionSpec(
        .html, value: OptionValue(.file, "FILE"),
        help: "Writes a page to FILE and replaces it; - is standard output."),
      OptionSpec(
        .last, value: OptionValue(.count, "N"),
        help: """
          Draws the last N jobs that are not waiting. The default is \(QueueReport.rowsOnTerminal), and \
          \(QueueReport.rowsOnPage) on a page.
          """),
    ],
    examples: [
      Example("serialq report", "in the terminal"),
      Example("serialq report --html queue.html", "as a page"),
      Example("serialq report -q video --last 200", "more jobs, of another queue"),
    ]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    try words.refuseOperands()
    self.init(queue: queue, page: words.value(.html), last: words.number(.last))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    let now = Clock.reading()
    var attempts = EarlierAttempts()
    let found = try session.readQueue(named: self.queue) { entry, _, queue in
      if let job = entry.job.flatMap(queue.job) { attempts.take(job, at: now) }
    }
    if found?.1.jobs.isEmpty ?? true { session.reportNoJobs(in: self.queue) }
    let standard = self.page == nil ? QueueReport.rowsOnTerminal : QueueReport.rowsOnPage
    var report = QueueReport(
      self.queue, found?.1 ?? Queue(), attempts, at: now, last: last ?? standard)
    guard let path = self.page else {
      let lines = TerminalReport(report: report, columns: session.traits.width ?? 80).lines
      for line in lines {
        session.output.result(line.rendered(color: session.traits.hasColor) + "\n")
      }
      return .success
    }
    if let (folder, queue) = found {
      report.troubles = try troubles(of: queue, folder)
    }
    let page = HTMLReport(report: report).page
    // A file that is standard output may have other text, and more to come.
    guard path != Bytes("-"), !FileSystem.isStandardOutput(path) else {
      session.output.result(page)
      return .success
    }
    // Not by the page of a misspelled name.
    if found == nil { _ = try session.spool().queue(named: self.queue) }
    do throws(Failure) {
      try UserFile.replace(path, by: Bytes(page.utf8))
    } catch {
      throw Failure(
        "writing \(path.text)", error.why,
        next: "Give --html another path, or - for standard output.")
    }
    return .success
  }

  /// The latest failures, newest first, with the ends of their logs.
  private func troubles(
    of queue: Queue, _ folder: QueueFolder
  ) throws(Failure) -> [QueueReport.Trouble] {
    let failed = queue.jobs.filter(\.state.isFailure).sorted { one, other in
      (one.overSince, one.id) > (other.overSince, other.id)
    }
    var troubles: [QueueReport.Trouble] = []
    for job in failed.prefix(QueueReport.mostTroubles) {
      let tail = try LogReader.tail(
        of: folder.log(job.id), lines: QueueReport.troubleLines,
        bytes: Int64(QueueReport.troubleBytes), hasTerminal: job.hadTerminal)
      troubles.append(QueueReport.Trouble(job: job, tail: tail))
    }
    return troubles
  }
}
