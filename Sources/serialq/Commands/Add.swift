extension Session {
  /// `serialq add`: queues jobs and prints their ids.
  mutating func add(_ call: Invocation.Add) throws(Failure) {
    let adding = try Adding(call.source, call.job)
    let folder = try spool().makeQueue(named: Bytes(call.job.queue.utf8))
    let ids = try adding.append(to: folder)
    output.result(call.json ? json(ids, folder) : Bytes("\(ids.text)\n".utf8))
    do throws(Failure) {
      try output.flush()
    } catch {
      // Who believes that it failed adds the jobs again, and they run twice.
      throw Failure(
        error.what, error.why,
        next: ids.count == 1
          ? "Job \(ids.text) is queued all the same." : "Jobs \(ids.text) are queued all the same.")
    }
  }

  private func json(_ ids: ClosedRange<JobID>, _ folder: QueueFolder) -> Bytes {
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
