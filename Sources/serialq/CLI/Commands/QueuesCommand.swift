import SerialqQueue
import SerialqRunner
import SerialqSystem

/// `serialq queues`: lists all queues with their counts.
struct QueuesCommand: Equatable {
  var json: Bool
}

extension QueuesCommand: Subcommand {
  static let name = "queues"

  static let spec = CommandSpec(
    name: name,
    summary: "list all queues with their counts",
    synopsis: ["queues [options]"],
    description: ["Prints the number of waiting, running and finished jobs and of open failures."],
    options: [OptionSpec(.json, help: "Prints a JSON array.")],
    operands: .none,
    examples: [Example("serialq queues", "all queues")]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    try words.refuseOperands()
    self.init(json: words.has(.json))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    var found: [(QueueFolder, Queue, hasRunner: Bool)] = []
    for name in try session.spool().queueNames() {
      guard let (folder, queue) = try session.readQueue(named: name.text) else { continue }
      found.append((folder, queue, try RunnerLock.isHeld(folder)))
    }
    if json {
      var writer = JSONWriter()
      writer.array { writer in
        for (folder, queue, hasRunner) in found { queue.write(to: &writer, folder, hasRunner) }
      }
      writer.endLine()
      session.result(json: writer.bytes)
      return .success
    }
    var columns = Columns(headings: [
      .left("QUEUE"), .right("WAITING"), .right("RUNNING"), .right("DONE"), .right("FAILED"),
      .left(""),
    ])
    columns.rows = found.map { folder, queue, hasRunner in
      let failed = queue.openFailureCount
      return [
        .init(folder.name.text), .init("\(queue.count(.waiting))"),
        .init("\(queue.running.count)"), .init("\(queue.overCount)"),
        .init("\(failed)", failed > 0 ? .red : nil), .init(queue.condition(hasRunner: hasRunner)),
      ]
    }
    session.output.result(columns.rendered(color: session.traits.hasColor))
    return .success
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
        json.member(state.name, count(state))
      }
    }
  }
}
