extension Session {
  /// `serialq add`: queues jobs and prints their ids.
  mutating func add(_ call: Invocation.Add) throws(Failure) {
    let adding = try Adding(call.source, call.job)
    let folder = try spool().makeQueue(named: Bytes(call.job.queue.utf8))
    let ids = try adding.append(to: folder)
    guard call.json else {
      return output.result(ids.count == 1 ? "\(ids.lowerBound)\n" : "\(ids.text)\n")
    }
    var json = JSONWriter()
    json.object { json in
      json.member("version", 1)
      json.member("queue", folder.name)
      json.key("ids")
      json.array { json in for id in ids { json.int(Int64(id)) } }
    }
    json.endLine()
    output.result(json.bytes)
  }
}

extension ClosedRange<JobID> {
  /// `3-7`.
  var text: String { "\(lowerBound)-\(upperBound)" }
}
