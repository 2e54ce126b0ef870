import Dispatch
import SerialqQueue
import SerialqSystem

/// Waits for jobs to be done by any runner, and starts a runner if there is none.
///
/// Does not poll: growth of the journal or the end of the runner wakes it, even if that was killed.
package struct Waiting {
  private let folder: QueueFolder
  private let journal: Journal
  private let ids: [JobID]
  private let runner: BackgroundRunner
  private let watch: FileWatch
  private let runnerEnded: WakeUpPipe
  private var isWatchingRunner = false
  /// The number of runners started since the queue last changed.
  private var failedStarts = 0
  private var reader: JournalReader
  package var queue: Queue { reader.queue }
  /// Damaged lines not reported yet.
  private var damaged: [DamagedLine] = []

  /// Waits for these jobs, or for the whole queue if `ids` is empty.
  ///
  /// Starts `runner` if there is work and no active runner.
  package init(
    _ folder: QueueFolder, ids: [ClosedRange<JobID>], startingIfNeeded runner: BackgroundRunner
  ) throws(Failure) {
    self.folder = folder
    self.runner = runner
    journal = Journal(folder)
    reader = JournalReader(folder)
    watch = try FileWatch(folders: [folder.path])
    runnerEnded = try WakeUpPipe()
    damaged = try reader.read().damaged
    self.ids = try reader.queue.jobs(ids, in: folder.name.text).map(\.id)
  }

  package var queueName: String { folder.name.text }

  /// The id, if exactly one job is waited for.
  package var onlyID: JobID? { ids.count == 1 ? ids.first : nil }

  /// Reads the queue, and starts a runner if there is work but none is active.
  ///
  /// Returns new damaged lines. Fails if the wait cannot succeed: a job was removed, or is waiting
  /// in a paused queue.
  package mutating func look() throws(Failure) -> [DamagedLine] {
    watch.drain()
    if runnerEnded.drain() { isWatchingRunner = false }
    let news = try reader.read()
    damaged += news.damaged
    if news.applied > 0 { failedStarts = 0 }
    for id in ids where queue.job(id) == nil {
      throw Failure(
        "job \(id)", "it was removed during the wait",
        next: "The job had ended. Wait before running serialq clean, or set keep to more jobs.")
    }
    if !isDone, !isWatchingRunner { try findRunner() }
    defer { damaged = [] }
    return damaged
  }

  package var isDone: Bool {
    guard !ids.isEmpty else { return queue.running.isEmpty && queue.count(.waiting) == 0 }
    return ids.allSatisfy { queue.job($0)?.state.isOver == true }
  }

  /// Whether a waiting job is waited for, which cannot run in a paused queue.
  private var isForWaiting: Bool {
    guard !ids.isEmpty else { return queue.count(.waiting) > 0 }
    return ids.contains { queue.job($0)?.state == .waiting }
  }

  /// The jobs that did not succeed; for the whole queue, the unacknowledged failures.
  package var unsuccessful: [Job] {
    ids.isEmpty
      ? queue.openFailures : ids.compactMap(queue.job).filter { $0.state != .succeeded }
  }

  /// Makes events durable before they are reported: the runner leaves some to its next flush.
  package func flush() throws(Failure) {
    try journal.locked { (scope) throws(Failure) in try scope.flush() }
  }

  /// Waits until something may have changed; returns false after the deadline.
  package func sleep(until deadline: Int64?) throws(Failure) -> Bool {
    if let deadline, deadline <= Clock.monotonic() { return false }
    _ = try waitForInput(on: [watch.descriptor, runnerEnded.descriptor], until: deadline)
    return true
  }

  /// Ensures, under the journal's lock, that a runner is active, and watches it.
  private mutating func findRunner() throws(Failure) {
    let folder = folder
    failedStarts += 1
    // One runner may have been killed by accident, but a persistent fault would start them forever.
    if failedStarts > 3 { throw brokenRunner() }
    try journal.locked { (scope) throws(Failure) in
      damaged += try reader.read().damaged
      if isDone { return }
      if queue.isPaused, isForWaiting { throw paused() }
      try runner.ensure(folder)
      isWatchingRunner = true
    }
    if isWatchingRunner { try watchRunner() }
  }

  private func paused() -> Failure {
    let name = folder.name.text
    let because = queue.pause?.because.map { " because job \($0) failed" } ?? ""
    return Failure(
      "queue \(name)", "it is paused\(because); jobs waiting: \(queue.count(.waiting))",
      next: "Resume it with: serialq resume\(QueueName.option(for: name))",
      code: because.isEmpty ? .cannot : .jobFailed)
  }

  private func brokenRunner() -> Failure {
    let last = (try? LogReader.tail(of: folder.runnerLog, lines: 2)) ?? []
    let said = last.isEmpty ? "" : "; its log says: \(last.joined(separator: "; "))"
    let option = QueueName.option(for: folder.name.text)
    return Failure(
      "queue \(folder.name.text)", "its runner ends repeatedly\(said)",
      next: "Try it in the foreground: serialq run\(option)")
  }

  /// Waits for the runner's lock: a killed runner reports nothing but releases it.
  private func watchRunner() throws(Failure) {
    let lock = try RunnerLock.open(folder)
    let ended = runnerEnded
    DispatchQueue.global().async {
      try? lock.lockShared()
      lock.unlock()
      ended.wake()
    }
  }
}
