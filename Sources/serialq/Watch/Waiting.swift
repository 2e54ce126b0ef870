import SerialqQueue
import SerialqRunner
import SerialqSystem

/// Waits for jobs of a queue to be done by any runner, and starts a runner if there is none.
///
/// The caller calls ``look()`` after each change of the queue's folder, and when ``runnerEnd`` is
/// readable.
package struct Waiting {
  package let folder: QueueFolder
  private let journal: Journal
  private let ids: [JobID]
  private let runner: BackgroundRunner
  /// The end of the active runner, if one is needed.
  private var end: RunnerEnd?
  /// The number of runners started since the queue last changed.
  private var failedStarts = 0
  private var reader: JournalReader
  package var queue: Queue { reader.queue }
  /// See ``JournalReader/changes``.
  package var changes: Int { reader.changes }
  /// Damaged lines not reported yet.
  private var damaged: [DamagedLine] = []
  private var shortage: String?
  /// When the jobs ended that were open at the beginning.
  private let openBefore: [JobID: Timestamp]

  /// Waits for these jobs, or for the whole queue if none is selected.
  ///
  /// Starts `runner` if there is work and no active runner.
  package init(
    _ folder: QueueFolder, _ selection: JobSelection, startingIfNeeded runner: BackgroundRunner
  ) throws(Failure) {
    self.folder = folder
    self.runner = runner
    journal = Journal(folder)
    reader = JournalReader(folder)
    damaged = try reader.read().damaged
    ids = try reader.queue.jobs(selection, in: folder.name).map(\.id)
    let open = reader.queue.openJobs.compactMap { job in job.ended.map { (job.id, $0) } }
    openBefore = Dictionary(uniqueKeysWithValues: open)
    onlyID = selection.namesOneJob ? ids.first : nil
  }

  /// What is missing to start the next job, unless this was returned before.
  package mutating func newShortage() -> String? {
    guard let text = queue.shortage, text != shortage else { return nil }
    shortage = text
    return text
  }

  /// Becomes readable when the active runner ends; nil if none is waited for.
  package var runnerEnd: Int32? { end?.descriptor }

  /// The id, if one job was named; a range with one job left is not one.
  package let onlyID: JobID?

  /// Reads the queue, and starts a runner if there is work but none is active.
  ///
  /// Returns new damaged lines. Fails if the wait cannot succeed: a job was removed, is waiting in
  /// a paused queue, or must wait for a suspended job.
  package mutating func look() throws(Failure) -> [DamagedLine] {
    let isOver = try end?.isOver() ?? true
    let news = try reader.readWithReports()
    damaged += news.damaged
    if news.applied > 0 { failedStarts = 0 }
    for id in ids where queue.job(id) == nil {
      throw Failure(
        "job \(id)", "it was removed during the wait",
        next: """
          The job had ended. Wait before running \(advised("clean")), or set keep to more jobs.
          """)
    }
    if !isDone, !queue.suspended.isEmpty { throw queue.blocked(named: folder.name) }
    if isOver || isDone {
      end = nil
    } else if try end?.isOutdated(in: folder) ?? false {
      end = try RunnerEnd(folder)
    }
    if !isDone, end == nil { try findRunner() }
    defer { damaged = [] }
    return damaged
  }

  package var isDone: Bool {
    guard !ids.isEmpty else { return queue.running.isEmpty && queue.count(.waiting) == 0 }
    return ids.allSatisfy { queue.job($0)?.state.isOver == true }
  }

  /// The first of the selected jobs that is not over; nil for the whole queue.
  package var awaited: JobID? { ids.first { queue.job($0)?.state.isOver == false } }

  /// Whether a waiting job is waited for, which cannot run in a paused queue.
  private var isForWaiting: Bool {
    guard !ids.isEmpty else { return queue.count(.waiting) > 0 }
    return ids.contains { queue.job($0)?.state == .waiting }
  }

  /// The jobs that did not succeed; for the whole queue, the open ones.
  package var unsuccessful: [Job] {
    ids.isEmpty
      ? queue.openJobs : ids.compactMap(queue.job).filter { $0.state != .succeeded }
  }

  /// When the open job ended, if that was before this wait for the whole queue.
  package func endedBefore(_ job: Job) -> Timestamp? {
    ids.isEmpty && job.ended == openBefore[job.id] ? job.ended : nil
  }

  /// Makes lines durable before they are reported: the runner leaves some to its next flush.
  package func flush() throws(Failure) {
    try journal.flush(readBy: reader)
  }

  /// Ensures, under the journal's lock, that a runner is active, and watches it.
  private mutating func findRunner() throws(Failure) {
    try journal.locked { (scope) throws(Failure) in
      damaged += try reader.read().damaged
      if isDone { return }
      if queue.isPaused, isForWaiting { throw queue.blocked(named: folder.name) }
      failedStarts += 1
      // One runner may have been killed by accident, but a persistent fault would start them
      // forever.
      if failedStarts > 3 { throw brokenRunner() }
      try runner.ensure(folder)
      end = try RunnerEnd(folder)
    }
  }

  private func brokenRunner() -> Failure {
    let (name, last) = (folder.name, folder.runnerSaid)
    var said = last.map { "; its log says: \($0)" } ?? ""
    var next = "Try it in the foreground: \(advised("run", in: name))"
    if last == nil, let fault = logFault() {
      said = ", and cannot write its log: \(fault.sentence)"
      next = """
        The jobs stay in the queue. When that is fixed, continue: \(advised("start", in: name))
        """
    }
    return Failure("queue \(name)", "its runner ends repeatedly\(said)", next: next)
  }

  /// Why a runner cannot write a message to its log, as on a full disk; nil if it can.
  private func logFault() -> Failure? {
    do throws(Failure) {
      try FileDescriptor.open(folder.runnerLog, .log).writeAll(Bytes("no message\n".utf8))
      return nil
    } catch {
      return error
    }
  }
}

extension Queue {
  /// The error of a command that would wait for a suspended job, or for jobs that a pause keeps
  /// from starting.
  package func blocked(named name: String) -> Failure {
    let because = properties.pause?.because.map { " because job \($0) failed" } ?? ""
    if let job = suspended.first {
      return Failure(
        "queue \(name)", "job \(job.id) is suspended",
        next: "Continue it with: \(advised("resume", in: name))")
    }
    return Failure(
      "queue \(name)", "it is paused\(because); jobs waiting: \(count(.waiting))",
      next: "Resume it with: \(advised("resume", in: name))",
      code: because.isEmpty ? .cannot : .jobFailed)
  }
}

extension QueueFolder {
  /// The last message of the background runner, on one line.
  package var runnerSaid: String? {
    let lines = (try? LogReader.tail(of: runnerLog, lines: 2)) ?? []
    return lines.isEmpty ? nil : lines.joined(separator: "; ")
  }
}
