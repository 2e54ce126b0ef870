import SerialqQueue
import SerialqSystem
import SerialqWatch

/// `serialq list`: lists the jobs of a queue, or of all.
struct ListCommand: Equatable {
  var queues: QueueSelection
  /// Empty for all jobs.
  var jobs: JobSelection
  /// Empty for all labels.
  var labels: [Bytes]
  /// Names from ``states``; empty for all states.
  var states: [String]
  var onlyFailed: Bool
  /// Only failures and skipped jobs that are not acknowledged.
  var onlyOpen = false
  var last: Int?
  var json: Bool
}

extension ListCommand: Subcommand {
  static let spec = CommandSpec(
    name: .list,
    summary: "list the jobs",
    synopsis: ["list [options] [ID...]"],
    description: [
      """
      Prints one job per line: id, state, exit code, duration, label, the jobs that it requires \
      or because of which it was skipped, and command. First the jobs that do not wait, by id, \
      then the waiting ones as they will run. Omits empty columns.
      """,
      """
      A running job that is suspended is shown as suspended, one that is cancelled as ending, one \
      that asks on its terminal as asking, and one that waits for a retry as retrying; --state \
      running and waiting select these too. With --all, the jobs of all queues, with a column for \
      the queue; if one cannot be read, the exit code is 125.
      """,
      """
      Quotes commands, on one line: pasted into a POSIX shell in the job's directory, they run the same \
      program; so does zsh, but for command lines in which its syntax differs. Cuts long labels, \
      and on a terminal or where COLUMNS is set also lines, to that width. A cut text ends in an \
      ellipsis; serialq show ID prints all of it.
      """,
    ],
    options: QueueSelection.options + [
      OptionSpec(
        .state, value: OptionValue(.choice(states), "STATE"), repeats: true,
        help: "Only jobs in these states, such as failed,killed: \(states.joined(separator: ", "))."
      ),
      OptionSpec(.failed, help: "Only jobs that failed for any reason or were skipped."),
      OptionSpec(.open, help: "Only those of them that are not acknowledged."),
      OptionSpec(
        .name, short: "n", value: OptionValue(.text, "LABEL"), repeats: true,
        help: "Only jobs with this label. May be given again."
      ),
      OptionSpec(
        .last, value: OptionValue(.count, "N"),
        help: "Only the last N jobs, with --all of each queue."),
      OptionSpec(.json, help: "Prints a JSON object, with --all an array."),
    ],
    operands: .jobIDs,
    examples: [
      Example("serialq list", "all jobs"),
      Example("serialq list 3-7 build", "these, and the latest named build"),
      Example("serialq ls --failed --last 5", "the last five failures"),
      Example("serialq list --all --state running", "what runs in all queues"),
      Example("serialq list --state waiting --json", "the waiting jobs, for jq"),
    ]
  )

  /// What selects jobs by their state: its name, or what the list shows instead.
  static let states = Job.stateTexts

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(
      queues: try QueueSelection(parsing: words, queue: queue, takesJobs: true),
      jobs: JobSelection(words.operands), labels: words.values(.name),
      states: words.values(.state).flatMap { $0.text.split(separator: ",").map(String.init) },
      onlyFailed: words.has(.failed), onlyOpen: words.has(.open), last: words.number(.last),
      json: words.has(.json))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    let spool = try session.spool()
    var listed: [Listed] = []
    var faults: [Failure] = []
    for name in try queues.names(in: spool) {
      do throws(Failure) {
        let queue = try session.readQueue(named: name)?.1 ?? Queue()
        if queues != .all, queue.jobs.isEmpty { session.reportNoJobs(in: name) }
        listed.append(
          Listed(
            folder: try spool.folder(named: name), queue: queue,
            jobs: try selected(of: queue, name)))
      } catch {
        if queues != .all { throw error }
        listed.append(Listed(folder: try spool.folder(named: name), fault: error))
        faults.append(error)
      }
    }
    if json {
      session.result(json: document(listed))
    } else {
      session.output.result(table(listed, session.traits))
    }
    try session.output.flush()
    try session.fail(by: faults)
    return .success
  }

  /// The selected jobs of a queue, or why it cannot be read.
  private struct Listed {
    var folder: QueueFolder
    var queue = Queue()
    var jobs: [Job] = []
    var fault: Failure?

    func write(to json: inout JSONWriter, withFault: Bool) {
      json.object { json in
        json.member("version", 1)
        json.member("queue", Bytes(folder.name.utf8))
        if withFault { json.member("error", fault.map { Bytes($0.sentence.utf8) }) }
        guard fault == nil else { return }
        json.member("paused", queue.isPaused)
        json.key("jobs")
        json.array { json in for job in jobs { job.write(to: &json, in: folder, of: queue) } }
      }
    }
  }

  private func selected(of queue: Queue, _ name: String) throws(Failure) -> [Job] {
    var jobs = queue.inOrder
    if !self.jobs.isEmpty {
      let selected = Set(try queue.jobs(self.jobs, in: name).map(\.id))
      jobs = jobs.filter { selected.contains($0.id) }
    }
    if !labels.isEmpty {
      let labels = Set(labels)
      jobs = jobs.filter { job in job.label.map { labels.contains($0) } ?? false }
    }
    if !states.isEmpty {
      jobs = jobs.filter { states.contains("\($0.state.name)") || states.contains($0.stateText) }
    }
    if onlyFailed { jobs = jobs.filter(\.state.opens) }
    if onlyOpen { jobs = jobs.filter(\.isOpen) }
    if let last { jobs = jobs.suffix(last) }
    return jobs
  }

  private func document(_ listed: [Listed]) -> Bytes {
    let count = listed.reduce(0) { $0 + $1.jobs.count }
    var json = JSONWriter(reservingCapacity: 256 + 512 * count)
    if queues == .all {
      json.array { json in for queue in listed { queue.write(to: &json, withFault: true) } }
    } else {
      for queue in listed { queue.write(to: &json, withFault: false) }
    }
    json.endLine()
    return json.bytes
  }

  private func table(_ listed: [Listed], _ traits: TerminalTraits) -> String {
    var columns = Columns(headings: [
      .left("QUEUE"), .right("ID"), .left("STATE"), .right("EXIT"), .right("TIME"), .left("NAME"),
      .left("AFTER"), .left("COMMAND"),
    ])
    // Leaves room for the command.
    let most = traits.width.map { max(8, $0 / 4) } ?? Int.max
    for queue in listed {
      for job in queue.jobs {
        columns.append([
          // Empty, and so without a column, in a list of one queue.
          .init(queues == .all ? queue.folder.name : ""), .init("\(job.id)"),
          .init(job.stateText, job.question == nil ? job.state.color : .yellow),
          .init(job.exitText),
          .init(job.elapsed.map(Humanize.duration) ?? ""),
          .init(job.labelText?.cut(to: most) ?? ""), .init(job.afterText.cut(to: min(most, 20))),
          // Whole in a file or a pipe: a script can read it back.
          .init(traits.isTerminal ? job.commandText : ShellQuote.command(job.command)),
        ])
      }
    }
    return columns.rendered(color: traits.hasColor, width: traits.width)
  }
}
