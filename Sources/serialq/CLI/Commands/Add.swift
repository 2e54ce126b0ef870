import SerialqQueue
import SerialqSystem

extension Session {
  /// `serialq add`: adds jobs and prints their ids.
  mutating func add(_ call: Invocation.Add) throws(Failure) {
    let adding = try Adding(call.source, call.job)
    let folder = try spool().makeQueue(named: Bytes(call.job.queue.utf8))
    let added = try adding.append(to: folder, startsRunner: call.startsRunner)
    let ids = added.ids
    for id in added.found where messageTraits.isTerminal || !call.json {
      output.message("serialq: job \(id) waits with the same command; it was not added again")
    }
    let text = JobID.text(of: ids, separator: " ")
    if call.json { result(json: json(ids, folder)) } else { output.result("\(text)\n") }
    if added.isPaused, call.startsRunner { tellPaused(call.job.queue) }
    if let failure = added.failure { throw failure.adding(queued(ids, call)) }
    do throws(Failure) {
      try output.flush()
    } catch {
      // The message says that the jobs were added: otherwise the user repeats the command, and they
      // run twice.
      throw error.adding(queued(ids, call))
    }
  }

  private func queued(_ ids: [JobID], _ call: Invocation.Add) -> String {
    let text = JobID.text(of: ids, separator: ", ")
    let jobs = ids.count == 1 ? "Job \(text) is" : "Jobs \(text) are"
    let option = QueueName.option(for: call.job.queue)
    return "\(jobs) queued all the same; do not add again. See: serialq status\(option)"
  }

  private func json(_ ids: [JobID], _ folder: QueueFolder) -> Bytes {
    var json = JSONWriter()
    json.object { json in
      json.member("version", 1)
      json.member("queue", folder.name)
      json.key("ids")
      json.array { json in for id in ids { json.int(Int64(id)) } }
    }
    json.endLine()
    return json.bytes
  }
}
