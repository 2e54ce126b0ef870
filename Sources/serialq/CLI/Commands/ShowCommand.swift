import SerialqQueue
import SerialqRunner
import SerialqSystem
import SerialqWatch

/// `serialq show`: shows all properties of a job.
struct ShowCommand: Equatable {
  var queue: String
  var jobs: JobSelection
  var showsEnvironment: Bool
  var json: Bool
}

extension ShowCommand: Subcommand {
  static let spec = CommandSpec(
    name: .show,
    summary: "show the details of jobs",
    synopsis: ["show [options] ID..."],
    description: [
      """
      Shows the exact command, its directory, its time limit, retries and conditions, times in the \
      local time zone, attempts, result, and the path and the size of its log.
      """,
      """
      Also shows whether the queue's on-finish command failed after the job. In JSON, \
      onFinishFailure is an object of exitCode and signal, or null.
      """,
    ],
    options: [
      .queue,
      OptionSpec(.env, help: "Shows only the environment, which may contain secrets."),
      OptionSpec(.json, help: "Prints one JSON object per job, without the environment."),
    ],
    operands: .jobIDs,
    examples: [
      Example("serialq show 12", "job 12"),
      Example("serialq show 12 --env", "its environment"),
    ]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    try words.refuse(.env, with: .json)
    self.init(
      queue: queue, jobs: try words.someJobs(), showsEnvironment: words.has(.env),
      json: words.has(.json))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    let (folder, queue, jobs) = try session.readJobs(self.jobs, in: queue)
    for (index, job) in jobs.enumerated() {
      if index > 0, !json { session.output.result("\n") }
      try show(job, folder, queue, in: &session)
    }
    return .success
  }

  private func show(
    _ job: Job, _ folder: QueueFolder, _ queue: Queue, in session: inout Session
  ) throws(Failure) {
    if showsEnvironment {
      for variable in try Environments(folder).load(job.context.environment) {
        session.output.result(
          session.traits.isTerminal ? Bytes(Visible.text(variable).utf8) : variable)
        session.output.result("\n")
      }
      return
    }
    if json {
      return session.result(json: JSONWriter.line { job.write(to: &$0, in: folder, of: queue) })
    }
    session.output.result(details(job, folder))
  }

  /// The timeout, retries and conditions, if the job has any.
  private func limits(_ job: Job) -> [(String, String)] {
    func time(_ seconds: Int) -> String { Humanize.seconds(.seconds(seconds)) }
    let limits = job.limits
    var lines: [(String, String)] = []
    if limits.timeout > 0 { lines.append(("timeout", time(limits.timeout))) }
    if limits.retries > 0 {
      let used = job.retriesUsed > 0 ? ", \(job.retriesUsed) used" : ""
      let delay = limits.retryDelay > 0 ? ", each after \(time(limits.retryDelay))" : ""
      lines.append(("retries", "\(limits.retries)\(delay)\(used)"))
    }
    if limits.ifOK { lines.append(("if-ok", "skipped unless the job before it succeeded")) }
    if !limits.after.isEmpty {
      lines.append(("after", "\(limits.after.text), skipped unless all succeeded"))
    }
    if job.state == .waiting, job.ignoresConditions {
      lines.append(("conditions", "ignored in the next attempt"))
    }
    return lines
  }

  /// What the running job does on its terminal, if it has one.
  private func terminalState(_ job: Job, _ folder: QueueFolder) -> [(String, String)] {
    guard job.state == .running, job.hadTerminal else { return [] }
    var lines: [(String, String)] = []
    if let question = job.question { lines.append(("question", question.phrase)) }
    if (try? KeeperLock.isLost(of: job, folder)) == true {
      lines.append(("keeper", "killed: the terminal is gone"))
    }
    return lines
  }

  /// The launcher of the attempt, and what it reported.
  private func launcherLines(_ job: Job) -> [(String, String)] {
    guard let launch = job.execution?.launch else { return [] }
    let wait = "\(Humanize.duration(.nanoseconds(job.engineWait))) in its engine"
    let values = [
      ("launcher", launch.command), ("launched as", launch.job), ("node", launch.node),
      ("waited", job.engineWait > 0 ? Bytes(wait.utf8) : nil), ("lost", launch.lost),
    ]
    return values.compactMap { name, value in value.map { (name, Visible.text($0)) } }
  }

  private func details(_ job: Job, _ folder: QueueFolder) -> String {
    var lines: [(String, String)] = [
      ("job", "\(job.id) of queue \(folder.name)"), ("state", job.outcomeText),
      ("command", ShellQuote.command(job.command)),
      ("directory", ShellQuote.word(job.context.directory)),
    ]
    if let input = folder.input(of: job) { lines.append(("input", ShellQuote.word(input))) }
    if let terminal = job.terminalText { lines.append(("terminal", terminal)) }
    if let label = job.label { lines.insert(("name", Visible.text(label)), at: 1) }
    // As a shell prints it.
    lines.append(("umask", String(job.context.umask, digits: 4, radix: 8)))
    lines += limits(job)
    lines.append(("added", Humanize.moment(job.added)))
    if let missing = job.missingText { lines.append(("missing", missing)) }
    if let started = job.started { lines.append(("started", Humanize.moment(started))) }
    if let suspended = job.suspendedSince {
      lines.append(("suspended", Humanize.moment(suspended)))
    }
    lines += terminalState(job, folder)
    if let ended = job.ended { lines.append(("ended", Humanize.moment(ended))) }
    if job.hasRun { lines.append(("attempt", "\(job.attempts)")) }
    lines += launcherLines(job)
    if !job.exitText.isEmpty { lines.append(("exit", job.exitText)) }
    if let left = job.execution?.left {
      let name = job.suspendedSince == nil ? "not ended" : "not suspended"
      lines.append((name, Visible.text(left)))
    }
    if let hook = job.over?.hookFailure { lines.append(("on-finish", hook.outcomeText)) }
    if let pid = job.running?.pid { lines.append(("process", "\(pid)")) }
    let log = folder.log(job.id)
    lines.append(("log", ShellQuote.word(log)))
    if let size = (try? FileSystem.status(of: log))?.size {
      lines.append(("log size", Humanize.about(bytes: size)))
    }
    let width = lines.map(\.0.count).max() ?? 0
    return lines.map { name, value in "\(name.padded(to: width))  \(value)\n" }.joined()
  }
}

extension Job {
  /// The terminal of the job, or of its last attempt; nil if it has none.
  fileprivate var terminalText: String? {
    guard let terminal else {
      return hadTerminal ? "its own, by the settings of the queue" : nil
    }
    let size = "\(terminal.columns) columns and \(terminal.rows) lines"
    return terminal == .unknownSize ? "its own" : "its own, with \(size) if none is attached"
  }
}
