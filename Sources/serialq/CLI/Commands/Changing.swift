import SerialqQueue
import SerialqRunner
import SerialqSystem

// Shared by several commands.

extension Session {
  /// Appends the events that `decide` returns for the current queue, under the lock; durable on
  /// return.
  ///
  /// Reads the journal before acquiring the lock, to hold it only briefly.
  func change<Result>(
    _ name: String,
    _ decide: (Queue, QueueFolder) throws(Failure) -> ([Event], Result),
    then: (QueueFolder, Queue) throws(Failure) -> Void = { _, _ in }
  ) throws(Failure) -> Result {
    guard let folder = try spool().existingQueue(named: Bytes(name.utf8)) else {
      throw Failure(
        "queue \(name)", "no such queue", next: "See all with: serialq queues")
    }
    var reader = JournalReader(folder)
    report(try reader.read().damaged, in: folder)
    return try Journal(folder).locked { (scope) throws(Failure) in
      try reader.read()
      let (events, result) = try decide(reader.queue, folder)
      try scope.append(events)
      reader.take(events)
      do throws(Failure) {
        try then(folder, reader.queue)
      } catch {
        let option = QueueName.option(for: name)
        throw events.isEmpty
          ? error
          : error.adding("The queue is changed despite this error. Run it: serialq run\(option)")
      }
      return result
    }
  }

  /// Starts a runner if the queue has work.
  func startRunner(_ folder: QueueFolder, _ queue: Queue) throws(Failure) {
    guard queue.hasWork else { return }
    try BackgroundRunner.own.ensure(folder)
  }

  /// Explains that the queue is paused, and how to resume it.
  func reportPaused(_ queue: String) {
    output.message(
      """
      serialq: queue \(queue) is paused: it starts no job
      Resume it: serialq resume\(QueueName.option(for: queue))
      """)
  }

  /// Suggests the command that shows why a job failed.
  func suggestLog(_ id: JobID, in queue: String) {
    output.message("See its output: serialq log\(QueueName.option(for: queue)) \(id)")
  }

  /// Reports success on a terminal only; scripts use the exit code.
  mutating func confirm(_ text: String) {
    if messageTraits.isTerminal { output.message(text) }
  }
}

extension [Job] {
  /// `job 3`, or `4 jobs`.
  var text: String {
    count == 1 ? "job \(self[0].id)" : "\(count) jobs"
  }
}
