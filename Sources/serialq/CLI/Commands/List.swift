import SerialqQueue
import SerialqSystem

extension Session {
  /// `serialq list`: lists the jobs of a queue.
  mutating func list(_ call: Invocation.List) throws(Failure) {
    let found = try readQueue(named: call.queue)
    var jobs = found?.1.inOrder ?? []
    if !call.states.isEmpty { jobs = jobs.filter { call.states.contains("\($0.state.name)") } }
    if call.onlyFailed { jobs = jobs.filter(\.state.isFailure) }
    if let last = call.last { jobs = jobs.suffix(last) }
    if call.json {
      result(
        json: json(
          jobs, isPaused: found?.1.isPaused ?? false, try spool().folder(named: call.queue)))
    } else {
      output.result(table(jobs))
    }
  }

  private func json(_ jobs: [Job], isPaused: Bool, _ folder: QueueFolder) -> Bytes {
    var json = JSONWriter(reservingCapacity: 256 + 512 * jobs.count)
    json.object { json in
      json.member("version", 1)
      json.member("queue", folder.name)
      json.member("paused", isPaused)
      json.key("jobs")
      json.array { json in for job in jobs { job.write(to: &json, log: folder.log(job.id)) } }
    }
    json.endLine()
    return json.bytes
  }

  private mutating func table(_ jobs: [Job]) -> String {
    var columns = Columns(headings: [
      .init(title: "ID", alignment: .right), .init(title: "STATE"),
      .init(title: "EXIT", alignment: .right), .init(title: "TIME", alignment: .right),
      .init(title: "NAME"), .init(title: "COMMAND"),
    ])
    columns.rows = jobs.map { job in
      [
        .init("\(job.id)"), .init("\(job.state.name)", job.state.color), .init(job.exitText),
        .init(job.elapsed.map(Humanize.duration) ?? ""), .init(job.label.map(Visible.text) ?? ""),
        .init(ShellQuote.command(job.command)),
      ]
    }
    return columns.rendered(color: traits.hasColor)
  }
}
