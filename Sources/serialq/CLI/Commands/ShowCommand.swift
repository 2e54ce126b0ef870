import SerialqQueue
import SerialqSystem

/// `serialq show`: shows all properties of a job.
struct ShowCommand: Equatable {
  var queue: String
  var id: JobID
  var showsEnvironment: Bool
  var json: Bool
}

extension ShowCommand: Subcommand {
  static let name = "show"

  static let spec = CommandSpec(
    name: name,
    summary: "show the details of one job",
    synopsis: ["show [options] ID"],
    description: [
      "Shows the exact command, its directory, times, attempts, result, and the path of its log.",
      """
      Also shows whether the queue's on-finish command failed after the job. In JSON, \
      onFinishFailure is an object of exitCode and signal, or null.
      """,
    ],
    options: [
      .queue,
      OptionSpec(.env, help: "Also shows the job's environment, which may contain secrets."),
      OptionSpec(.json, help: "Prints one JSON object, without the environment."),
    ],
    operands: .jobID,
    examples: [
      Example("serialq show 12", "job 12"),
      Example("serialq show 12 --env", "and its environment"),
    ]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(
      queue: queue, id: try words.oneID(), showsEnvironment: words.has(.env), json: words.has(.json)
    )
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    let (folder, job) = try session.readJob(id, in: queue)
    if showsEnvironment {
      for variable in try Environments(folder).load(job.context.environment) {
        session.output.result(
          session.traits.isTerminal ? Bytes(Visible.text(variable).utf8) : variable)
        session.output.result("\n")
      }
      return .success
    }
    if json {
      var json = JSONWriter()
      job.write(to: &json, log: folder.log(job.id))
      json.endLine()
      session.result(json: json.bytes)
      return .success
    }
    session.output.result(details(job, folder))
    return .success
  }

  private func details(_ job: Job, _ folder: QueueFolder) -> String {
    var lines: [(String, String)] = [
      ("job", "\(job.id) of queue \(folder.name.text)"), ("state", job.outcomeText),
      ("command", ShellQuote.command(job.command)),
      ("directory", ShellQuote.word(job.context.directory)),
    ]
    if let label = job.label { lines.insert(("name", Visible.text(label)), at: 1) }
    // As a shell prints it.
    lines.append(("umask", String(job.context.umask, digits: 4, radix: 8)))
    lines.append(("added", job.added.rfc3339.text))
    if let started = job.run?.started { lines.append(("started", started.rfc3339.text)) }
    if let ended = job.run?.ended { lines.append(("ended", ended.rfc3339.text)) }
    if let attempt = job.run?.attempt, attempt > 0 { lines.append(("attempt", "\(attempt)")) }
    if !job.exitText.isEmpty { lines.append(("exit", job.exitText)) }
    if let hook = job.run?.hook { lines.append(("on-finish", hook.outcomeText)) }
    if let pid = job.run?.pid { lines.append(("process", "\(pid)")) }
    lines.append(("log", ShellQuote.word(folder.log(job.id))))
    let width = lines.map(\.0.count).max() ?? 0
    return lines.map { name, value in "\(name.padded(to: width))  \(value)\n" }.joined()
  }
}
