import SerialPromises
import SerialqQueue
import SerialqRunner
import SerialqSystem

extension Session {
  /// `serialq status -w`: runs until SIGINT, which is not a failure.
  mutating func watchStatus(of name: String) throws(Failure) {
    // Creates the queue: a watch needs a folder, and a job may be added later.
    let folder = try spool().makeQueue(named: Bytes(name.utf8))
    let wakeUp = try WakeUpPipe()
    let watch = try FileWatch(folders: [folder.path, folder.logs])
    let isInterrupted = Locked(false)
    let interrupt = SignalListener([SIGINT]) { _ in
      isInterrupted.withLock { $0 = true }
      wakeUp.wake()
    }
    defer { withExtendedLifetime(interrupt) {} }
    var view = StatusWatch(folder)
    var display = traits.isLive ? LiveDisplay(color: traits.hasColor) { wakeUp.wake() } : nil
    while !isInterrupted.withLock({ $0 }), !output.readerIsGone {
      wakeUp.drain()
      watch.drain()
      let news = try view.update()
      report(view.damaged, in: folder)
      if let window = display?.nextFrame(on: &output) {
        let report = try view.report()
        display?.show(report.lines(in: window), changesIn: report.changesIn, on: &output)
      } else if display == nil {
        for line in news { output.result("\(line)\n") }
        try output.flush()
      }
      _ = try waitForInput(
        on: [watch.descriptor, wakeUp.descriptor], timeoutMilliseconds: display?.timeoutMilliseconds
      )
    }
  }
}

/// A queue that is read repeatedly.
private struct StatusWatch {
  let folder: QueueFolder
  private var reader: JournalReader
  private var queue: Queue { reader.queue }
  private var progress = QueueProgress(Queue())
  private var changes = 0
  /// The last reported state of each job that changed since the first read.
  private var reported: [JobID: JobState] = [:]
  /// Damaged lines found by the last read.
  private(set) var damaged: [DamagedLine] = []

  init(_ folder: QueueFolder) {
    self.folder = folder
    reader = JournalReader(folder)
  }

  /// Reads new events and returns lines that report them; the first call reports the current state.
  mutating func update() throws(Failure) -> [String] {
    var changed: [JobID] = []
    let isFirst = changes == 0
    let news = try reader.read { event in
      if let id = event.job, changed.last != id { changed.append(id) }
    }
    damaged = news.damaged
    if news.applied > 0 || news.reset || isFirst { changes += 1 }
    if isFirst { progress = QueueProgress(queue) }
    progress.update(queue, changes: changes)
    if isFirst { return try report().lines().map { $0.rendered(color: false) } }
    return changed.compactMap { id in
      guard let job = queue.job(id), reported[id] != job.state else { return nil }
      reported[id] = job.state
      return "job \(id) \(job.state == .running ? "begins" : job.outcomeText): \(job.title)"
    }
  }

  func report() throws(Failure) -> StatusReport {
    if queue.jobs.isEmpty { return StatusReport(empty: folder.name.text, hasOthers: false) }
    return try StatusReport(folder, queue, progress)
  }
}
