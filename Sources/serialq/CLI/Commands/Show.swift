import SerialqQueue
import SerialqSystem

extension Session {
  /// `serialq show`: shows all properties of a job.
  mutating func show(_ call: Invocation.Show) throws(Failure) {
    let (folder, job) = try readJob(call.id, in: call.queue)
    if call.showsEnvironment {
      for variable in try Environments(folder).load(job.environment) {
        output.result(traits.isTerminal ? Bytes(Visible.text(variable).utf8) : variable)
        output.result("\n")
      }
      return
    }
    if call.json {
      var json = JSONWriter()
      job.write(to: &json, log: folder.log(job.id))
      json.endLine()
      return result(json: json.bytes)
    }
    output.result(details(job, folder))
  }

  /// The umask as a shell prints it.
  private func umask(_ job: Job) -> String {
    let digits = String(job.umask, radix: 8)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }

  private func details(_ job: Job, _ folder: QueueFolder) -> String {
    var lines: [(String, String)] = [
      ("job", "\(job.id) of queue \(folder.name.text)"), ("state", job.outcomeText),
      ("command", ShellQuote.command(job.command)),
      ("directory", ShellQuote.word(job.directory)),
    ]
    if let label = job.label { lines.insert(("name", Visible.text(label)), at: 1) }
    lines.append(("umask", umask(job)))
    lines.append(("added", job.added.rfc3339.text))
    if let started = job.run?.started { lines.append(("started", started.rfc3339.text)) }
    if let ended = job.run?.ended { lines.append(("ended", ended.rfc3339.text)) }
    if let attempt = job.run?.attempt, attempt > 0 { lines.append(("attempt", "\(attempt)")) }
    if !job.exitText.isEmpty { lines.append(("exit", job.exitText)) }
    if let hook = job.run?.hook { lines.append(("on-finish", hook.outcomeText)) }
    if let pid = job.run?.pid { lines.append(("process", "\(pid)")) }
    lines.append(("log", ShellQuote.word(folder.log(job.id))))
    let width = lines.map(\.0.count).max() ?? 0
    return lines.map { name, value in
      name + String(repeating: " ", count: width - name.count + 2) + value + "\n"
    }.joined()
  }
}
