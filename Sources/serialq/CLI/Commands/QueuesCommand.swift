import SerialqQueue
import SerialqRunner
import SerialqSystem

/// `serialq queues`: lists all queues with their counts, or removes one without jobs.
struct QueuesCommand: Equatable {
  var json: Bool
  /// The queue to remove; nil lists all.
  var removed: String?
}

extension QueuesCommand: Subcommand {
  static let spec = CommandSpec(
    name: .queues,
    summary: "list all queues with their counts",
    synopsis: ["queues [options]"],
    description: [
      """
      Prints the number of waiting, running, finished and open jobs. A job that failed or was \
      skipped is open until it is acknowledged. For a queue that cannot be read, prints what is \
      wrong with it, and exits with 125.
      """
    ],
    options: [
      OptionSpec(.json, help: "Prints a JSON array."),
      OptionSpec(
        .remove, value: OptionValue(.queue, "NAME"),
        help: "Removes a queue that has no jobs, with its settings."),
    ],
    examples: [
      Example("serialq queues", "all queues"),
      Example("serialq queues --remove vidoe", "one without jobs"),
    ]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    try words.refuseOperands()
    try words.refuse(.remove, with: .json)
    self.init(json: words.has(.json), removed: words.value(.remove)?.text)
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    if let removed {
      try remove(removed, in: &session)
      return .success
    }
    var entries: [Entry] = []
    for name in try session.spool().queueNames() {
      do throws(Failure) {
        guard let (folder, queue) = try session.readQueue(named: name) else { continue }
        entries.append(Entry(name: name, queue: queue, hasRunner: try RunnerLock.isHeld(folder)))
      } catch {
        // The others are shown nevertheless.
        entries.append(Entry(name: name, fault: error))
      }
    }
    if json {
      session.result(
        json: JSONWriter.line {
          $0.array { json in for entry in entries { entry.write(to: &json) } }
        })
    } else {
      var columns = Columns(headings: [
        .left("QUEUE"), .right("WAITING"), .right("RUNNING"), .right("DONE"), .right("OPEN"),
        .left(""),
      ])
      for entry in entries { columns.append(entry.row) }
      session.output.result(
        columns.rendered(color: session.traits.hasColor, width: session.traits.width))
    }
    try session.output.flush()
    try session.fail(by: entries.compactMap(\.fault))
    return .success
  }

  /// Removes a queue under its lock, so that no job is added meanwhile.
  private func remove(_ name: String, in session: inout Session) throws(Failure) {
    let folder = try session.spool().queue(named: name)
    // Before the lock is created in it.
    try folder.requireOwn()
    try Journal(folder).locked { (scope) throws(Failure) in
      var reader = JournalReader(folder)
      try reader.read()
      let count = reader.queue.jobs.count
      guard count == 0 else {
        throw Failure(
          "queue \(name)", "it has \(count) \(count == 1 ? "job" : "jobs")",
          next: """
            Remove the jobs first: \(advised("cancel", in: name)) --all; \
            \(advised("clean", in: name)) --all
            """)
      }
      guard try !RunnerLock.isHeld(folder) else {
        throw Failure(
          "queue \(name)", "its runner is active", next: "Remove it when the runner has ended.")
      }
      try folder.remove()
    }
    session.confirm("serialq: queue \(name) removed")
  }
}

/// A queue in the list, or why it cannot be read.
private struct Entry {
  var name: String
  var queue = Queue()
  var hasRunner = false
  var fault: Failure?

  var row: [Columns.Cell] {
    if let fault {
      let unknown = (0..<4).map { _ in Columns.Cell("?") }
      return [.init(name)] + unknown + [.init(fault.sentence, .red)]
    }
    let open = queue.openCount
    return [
      .init(name), .init("\(queue.count(.waiting))"), .init("\(queue.running.count)"),
      .init("\(queue.overCount)"), .init("\(open)", open > 0 ? .red : nil),
      .init(queue.condition(hasRunner: hasRunner)),
    ]
  }

  /// Writes the members; only the first three of a queue that cannot be read.
  func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("version", 1)
      json.member("queue", Bytes(name.utf8))
      json.member("error", fault.map { Bytes($0.sentence.utf8) })
      guard fault == nil else { return }
      json.member("paused", queue.isPaused)
      json.member("runner", hasRunner)
      json.member("openFailures", queue.openCount)
      json.key("counts")
      queue.writeCounts(to: &json)
    }
  }
}

extension Queue {
  /// Why jobs do not run, or the running one does not proceed; empty if they do.
  fileprivate func condition(hasRunner: Bool) -> String {
    if let job = suspended.first { return "paused, job \(job.id) suspended" }
    let asking = running.compactMap(job).first { $0.question != nil }.map { "job \($0.id) asks" }
    let pause = isPaused ? "paused" : hasWork && !hasRunner ? "no runner" : nil
    return [pause, asking].compactMap(\.self).joined(separator: ", ")
  }

  func writeCounts(to json: inout JSONWriter) {
    json.object { json in
      for state in JobState.allCases {
        json.member(state.name, count(state))
      }
    }
  }
}
