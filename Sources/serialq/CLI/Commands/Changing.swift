import SerialqQueue
import SerialqRunner
import SerialqSystem
import SerialqWatch

// Shared by several commands.

extension Session {
  /// Makes the changes that `decide` finds for the current queue, under the lock; durable on
  /// return.
  ///
  /// Calls `then` with the queue after them, under the same lock. Reads the journal before
  /// acquiring the lock, to hold it only briefly.
  func change<Result>(
    _ name: String,
    _ decide: (inout QueueChanges, JournalScope) throws(Failure) -> Result,
    then: (QueueFolder, Queue) throws(Failure) -> Void = { _, _ in }
  ) throws(Failure) -> Result {
    guard let folder = try spool().existingQueue(named: name) else {
      throw noJobs(in: name)
    }
    var reader = JournalReader(folder)
    report(try reader.read().damaged, in: folder)
    return try Journal(folder).locked { (scope) throws(Failure) in
      try scope.read(&reader)
      var changes = QueueChanges(reader.queue)
      let result = try decide(&changes, scope)
      try scope.append(changes.entries)
      do throws(Failure) {
        try then(folder, changes.queue)
      } catch {
        throw changes.entries.isEmpty
          ? error
          : error.after(
            "The queue is changed despite this error.", next: "Run it: \(advised("run", in: name))")
      }
      return result
    }
  }

  /// The queue for new jobs, which is made if needed.
  ///
  /// Not if the jobs require others: their queue must exist.
  ///
  /// Reports on a terminal that a queue with a name is new: the name may be mistyped.
  mutating func folder(for job: JobOptions) throws(Failure) -> QueueFolder {
    if !job.after.isEmpty, try spool().existingQueue(named: job.queue) == nil {
      throw Failure(
        "queue \(job.queue)", "it has no jobs, so none can be --after one",
        next: "Nothing was queued. \(queuesWithJobs() ?? "Add the first one without --after.")")
    }
    let (folder, isNew) = try spool().makeQueue(named: job.queue)
    if isNew, job.queue != QueueName.standard {
      confirm("serialq: queue \(job.queue) is new")
    }
    return folder
  }

  /// Receives Ctrl-C for a command that only follows jobs: says which running ones continue, if
  /// they are of interest, and ends the process.
  ///
  /// Says so on its own thread, not between writes of output: a write to a reader that has stopped
  /// reading blocks forever.
  func interrupt(
    of queues: QueueSelection, _ restorer: TerminalRestorer = TerminalRestorer(),
    if isOfInterest: @escaping @Sendable (JobID) -> Bool = { _ in true }
  ) throws(Failure) {
    let messages = output
    let spool = try self.spool()
    let listener = try SignalListener(SignalListener.ending) { signal in
      restorer.restore {
        // Only Ctrl-C is meant for the job as much as for this command.
        if signal == SIGINT {
          for (name, id) in Self.runningJobs(of: queues, in: spool) where isOfInterest(id) {
            let place = queues == .all ? "queue \(name), " : ""
            messages.message("serialq: \(place)job \(id) continues")
          }
        }
        SignalListener.obey(signal)
      }
    }
    // Until the process ends.
    _ = Unmanaged.passRetained(listener)
  }

  /// The running job of each queue that can be read.
  ///
  /// Read from the journal: the output of a job can precede what the caller knows of it.
  private static func runningJobs(
    of queues: QueueSelection, in spool: Spool
  ) -> [(queue: String, id: JobID)] {
    ((try? queues.names(in: spool)) ?? []).compactMap { name in
      let queue = try? spool.folder(named: name).queue()
      return queue?.running.first.map { (name, $0) }
    }
  }

  /// Starts a runner if the queue has work.
  func startRunner(_ folder: QueueFolder, _ queue: Queue) throws(Failure) {
    guard queue.hasWork else { return }
    try BackgroundRunner.own.ensure(folder)
  }

  /// The failure of a command that needs a job of a queue that does not exist.
  func noJobs(in name: String) -> Failure {
    Failure(
      "queue \(name)", "it has no jobs",
      next: queuesWithJobs() ?? "Add one with: \(advised("add", in: name))")
  }

  /// Reports that a queue has no jobs, and which queues have some: its name may be mistyped.
  ///
  /// Reports nothing if no other queue has jobs.
  func reportNoJobs(in name: String) {
    guard let others = queuesWithJobs() else { return }
    output.message("serialq: queue \(name) is empty\n\(others)")
  }

  /// A line that names the queues that have jobs; nil if there are none.
  func queuesWithJobs() -> String? { namesOfQueuesWithJobs().map { "Queues with jobs: \($0)" } }

  /// The queues that have jobs; nil if there are none.
  ///
  /// Leaves out queues that cannot be read: this line is about a different queue.
  func namesOfQueuesWithJobs() -> String? {
    guard let spool = try? self.spool(), let all = try? spool.queueNames() else { return nil }
    let names = all.filter { name in
      (try? spool.existingQueue(named: name)?.queue())?.jobs.isEmpty == false
    }
    guard !names.isEmpty else { return nil }
    let shown = names.prefix(10).joined(separator: ", ")
    let rest = names.count > 10 ? " and \(names.count - 10) more; see: \(advised("queues"))" : ""
    return shown + rest
  }

  /// Explains that the queue is paused, and how to resume it.
  func reportPaused(_ queue: String) {
    output.message(
      """
      serialq: queue \(queue) is paused: it starts no job
      Resume it with: \(advised("resume", in: queue))
      """)
  }

  /// Suggests the command that shows why a job failed.
  func suggestLog(_ id: JobID, in queue: String) {
    output.message("Output of job \(id): \(advised("log", in: queue)) \(id)")
  }

  /// Reports success on a terminal only; scripts use the exit code.
  mutating func confirm(_ text: String) {
    if messageTraits.isTerminal { output.message(text) }
  }
}

extension Queue {
  /// The failure of a command for all jobs of some state, of which there is none.
  ///
  /// A script must not continue as if something was done: `add` can return before its job starts.
  func nothing(_ state: String, in name: String) -> Failure {
    let waiting = count(.waiting)
    let rest = waiting == 0 ? "" : "; \(waiting) \(waiting == 1 ? "waits" : "wait")"
    return Failure(
      "queue \(name)", "no job is \(state)\(rest)",
      next: "Nothing was changed. See the jobs: \(advised("list", in: name))")
  }
}

extension [Job] {
  /// `job 3`, or `4 jobs`.
  var text: String {
    count == 1 ? "job \(self[0].id)" : "\(count) jobs"
  }
}
