import SerialqQueue
import SerialqRunner
import SerialqSystem

extension Session {
  /// `serialq queues`: lists all queues with their counts.
  mutating func queues(json: Bool) throws(Failure) {
    var found: [(QueueFolder, Queue, hasRunner: Bool)] = []
    for name in try spool().queueNames() {
      guard let (folder, queue) = try readQueue(named: name.text) else { continue }
      found.append((folder, queue, try RunnerLock.isHeld(folder)))
    }
    if json {
      var writer = JSONWriter()
      writer.array { writer in
        for (folder, queue, hasRunner) in found { queue.write(to: &writer, folder, hasRunner) }
      }
      writer.endLine()
      return result(json: writer.bytes)
    }
    var columns = Columns(headings: [
      .init(title: "QUEUE"), .init(title: "WAITING", alignment: .right),
      .init(title: "RUNNING", alignment: .right), .init(title: "DONE", alignment: .right),
      .init(title: "FAILED", alignment: .right), .init(title: ""),
    ])
    columns.rows = found.map { folder, queue, hasRunner in
      let failed = queue.openFailureCount
      return [
        .init(folder.name.text), .init("\(queue.count(.waiting))"),
        .init("\(queue.running.count)"), .init("\(queue.overCount)"),
        .init("\(failed)", failed > 0 ? .red : nil), .init(queue.condition(hasRunner: hasRunner)),
      ]
    }
    output.result(columns.rendered(color: traits.hasColor))
  }
}

extension Queue {
  /// Why jobs do not run; empty if they do.
  fileprivate func condition(hasRunner: Bool) -> String {
    if isPaused { return "paused" }
    return hasWork && !hasRunner ? "no runner" : ""
  }

  fileprivate func write(to json: inout JSONWriter, _ folder: QueueFolder, _ hasRunner: Bool) {
    json.object { json in
      json.member("version", 1)
      json.member("queue", folder.name)
      json.member("paused", isPaused)
      json.member("runner", hasRunner)
      json.member("openFailures", openFailureCount)
      json.key("counts")
      writeCounts(to: &json)
    }
  }

  func writeCounts(to json: inout JSONWriter) {
    json.object { json in
      for state in JobState.allCases {
        json.key(state.name)
        json.int(Int64(count(state)))
      }
    }
  }
}
