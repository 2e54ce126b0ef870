import Dispatch
import SerialqQueue
import SerialqSystem

/// Waits for jobs to be done, whoever runs them, and sees to it that somebody does.
///
/// No polling: the journal's growth wakes it, and the end of the runner, however it comes about.
package struct Waiting {
  private let folder: QueueFolder
  private let journal: Journal
  private let ids: [JobID]
  private let runner: BackgroundRunner
  private let watch: FileWatch
  private let runnerEnded: WakeUpPipe
  private var isWatchingRunner = false
  /// How many runners were looked for since the queue last changed.
  private var vainStarts = 0
  private var reader: JournalReader
  package private(set) var queue = Queue()
  /// Found, and not yet told.
  private var damaged: [DamagedLine] = []

  /// For these jobs; with none for the whole queue.
  ///
  /// `runner` is what is started if there is work and no runner.
  package init(
    _ folder: QueueFolder, ids: [ClosedRange<JobID>], startingIfNeeded runner: BackgroundRunner
  ) throws(Failure) {
    self.folder = folder
    self.runner = runner
    journal = Journal(folder)
    reader = JournalReader(folder)
    (watch, runnerEnded) = try attempt("watching \(folder.path.text)") { () throws(SystemError) in
      (try FileWatch(folders: [folder.path]), try WakeUpPipe())
    }
    damaged = try reader.read(into: &queue).damaged
    self.ids = try queue.jobs(ids, in: folder.name.text).map(\.id)
  }

  package var queueName: String { folder.name.text }

  /// The id, if it is a single one that is waited for.
  package var onlyID: JobID? { ids.count == 1 ? ids.first : nil }

  /// Looks at the queue, and starts a runner if none is at work though there is work.
  ///
  /// Returns the damaged lines that are news. Fails when what is waited for cannot happen: a job is
  /// gone, or waits in a paused queue.
  package mutating func look() throws(Failure) -> [DamagedLine] {
    watch.drain()
    if runnerEnded.drain() { isWatchingRunner = false }
    let news = try reader.read(into: &queue)
    damaged += news.damaged
    if news.applied > 0 { vainStarts = 0 }
    for id in ids where queue.job(id) == nil {
      throw Failure(
        "job \(id)", "it was cleaned away while it was waited for",
        next: "It was over. Wait before somebody runs serialq clean, or set keep to more jobs.")
    }
    if !isDone, !isWatchingRunner { try findRunner() }
    defer { damaged = [] }
    return damaged
  }

  package var isDone: Bool {
    guard !ids.isEmpty else { return queue.running.isEmpty && queue.count(.waiting) == 0 }
    return ids.allSatisfy { queue.job($0)?.state.isOver == true }
  }

  /// Whether it is for a job that is yet to run, which none does in a paused queue.
  private var isForWaiting: Bool {
    guard !ids.isEmpty else { return queue.count(.waiting) > 0 }
    return ids.contains { queue.job($0)?.state == .waiting }
  }

  /// What was waited for and is no success; for the whole queue the open failures.
  package var unsuccessful: [Job] {
    ids.isEmpty
      ? queue.openFailures : ids.compactMap(queue.job).filter { $0.state != .succeeded }
  }

  /// Makes durable what is about to be told: the runner leaves some of it to its next start.
  package func flush() throws(Failure) {
    try journal.locked { (scope) throws(Failure) in try scope.flush() }
  }

  /// Sleeps until something may have happened; false when the time is over.
  package func sleep(until deadline: Int64?) throws(Failure) -> Bool {
    let left = deadline.map { max(0, ($0 - Clock.monotonic() + 999_999) / 1_000_000) }
    if left == 0 { return false }
    _ = try attempt("waiting") { () throws(SystemError) in
      try waitForInput(
        on: [watch.descriptor, runnerEnded.descriptor],
        timeoutMilliseconds: left.map { Int32(clamping: $0) })
    }
    return true
  }

  /// Sees to it that a runner is at work, decided under the journal's lock, and watches it.
  private mutating func findRunner() throws(Failure) {
    let folder = folder
    vainStarts += 1
    // One could have died by accident; but what makes them die could go on for ever.
    if vainStarts > 3 { throw brokenRunner() }
    try journal.locked { (scope) throws(Failure) in
      damaged += try reader.read(into: &queue).damaged
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
      "queue \(name)", "it is paused\(because), and \(queue.count(.waiting)) of its jobs wait",
      next: "Go on with: serialq resume\(QueueName.option(for: name))",
      code: because.isEmpty ? .cannot : .jobFailed)
  }

  private func brokenRunner() -> Failure {
    let last = (try? LogReader.tail(of: folder.runnerLog, lines: 2)) ?? []
    let said = last.isEmpty ? "" : "; it said: \(last.joined(separator: "; "))"
    let option = QueueName.option(for: folder.name.text)
    return Failure(
      "queue \(folder.name.text)", "its runner ends again and again\(said)",
      next: "Try it in the foreground: serialq run\(option)")
  }

  /// A runner that is killed says nothing; but its lock is free then.
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
