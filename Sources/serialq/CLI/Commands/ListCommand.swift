import SerialqQueue
import SerialqSystem

/// `serialq list`: lists the jobs of a queue.
struct ListCommand: Equatable {
  var queue: String
  /// Names from ``states``; empty for all states.
  var states: [String]
  var onlyFailed: Bool
  var last: Int?
  var json: Bool
}

extension OptionName {
  fileprivate static var state: Self { Self("state") }
}

extension ListCommand: Subcommand {
  static let name = "list"
  static let aliases = ["ls"]

  static let spec = CommandSpec(
    name: name, aliases: aliases,
    summary: "list the jobs",
    synopsis: ["list [options]"],
    description: [
      """
      Prints one job per line, in the order in which they run: id, state, exit code, duration, \
      label and command. Omits empty columns. Quotes commands: pasted into a shell, they run the \
      same program.
      """
    ],
    options: [
      .queue,
      OptionSpec(
        .state, value: OptionValue(.choice(states), "STATE"), repeats: true,
        help: "Only jobs in this state: \(states.joined(separator: ", ")). May be given again."
      ),
      OptionSpec(.failed, help: "Only jobs that failed for any reason."),
      OptionSpec(.last, value: OptionValue(.count, "N"), help: "Only the last N jobs."),
      OptionSpec(.json, help: "Prints one JSON object."),
    ],
    operands: .none,
    examples: [
      Example("serialq list", "all jobs"),
      Example("serialq ls --failed --last 5", "the last five failures"),
      Example("serialq list --state waiting --json", "the waiting jobs, for jq"),
    ]
  )

  /// The names of all states.
  static let states = JobState.allCases.map { "\($0.name)" }

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    try words.refuseOperands()
    self.init(
      queue: queue, states: (words.values[.state] ?? []).map(\.text),
      onlyFailed: words.has(.failed), last: words.number(.last), json: words.has(.json))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    let found = try session.readQueue(named: queue)
    var jobs = found?.1.inOrder ?? []
    if !states.isEmpty { jobs = jobs.filter { states.contains("\($0.state.name)") } }
    if onlyFailed { jobs = jobs.filter(\.state.isFailure) }
    if let last { jobs = jobs.suffix(last) }
    if json {
      session.result(
        json: document(
          jobs, isPaused: found?.1.isPaused ?? false, try session.spool().folder(named: queue))
      )
    } else {
      session.output.result(table(jobs, color: session.traits.hasColor))
    }
    return .success
  }

  private func document(_ jobs: [Job], isPaused: Bool, _ folder: QueueFolder) -> Bytes {
    JSONWriter.line(reservingCapacity: 256 + 512 * jobs.count) { json in
      json.member("version", 1)
      json.member("queue", folder.name)
      json.member("paused", isPaused)
      json.key("jobs")
      json.array { json in for job in jobs { job.write(to: &json, log: folder.log(job.id)) } }
    }
  }

  private func table(_ jobs: [Job], color: Bool) -> String {
    var columns = Columns(headings: [
      .right("ID"), .left("STATE"), .right("EXIT"), .right("TIME"), .left("NAME"), .left("COMMAND"),
    ])
    columns.rows = jobs.map { job in
      [
        .init("\(job.id)"), .init("\(job.state.name)", job.state.color), .init(job.exitText),
        .init(job.elapsed.map(Humanize.duration) ?? ""), .init(job.label.map(Visible.text) ?? ""),
        .init(ShellQuote.command(job.command)),
      ]
    }
    return columns.rendered(color: color)
  }
}
