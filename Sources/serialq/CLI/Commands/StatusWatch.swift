import SerialqQueue
import SerialqRunner
import SerialqSystem
import SerialqWatch

extension Session {
  /// `serialq status -w`: runs until a signal.
  ///
  /// Watching does not make a queue: until a job is added, watches for its folder.
  mutating func watchStatus(of queues: QueueSelection) throws(Failure) -> ExitCode {
    let wakeUp = try WakeUpPipe()
    let signals = try StopSignals { signal, count in
      // The first has no effect on a write to a terminal that has stopped.
      count > 1 ? SignalListener.obey(signal) : wakeUp.wake()
    }
    var views = try WatchedQueues(try spool(), queues, logs: true, members: initial(queues))
    var display = traits.isLive ? try LiveDisplay(color: traits.hasColor) { wakeUp.wake() } : nil
    while signals.first == nil, !output.readerIsGone {
      wakeUp.drain()
      var news: [String] = []
      try views.update { folder in
        StatusWatch(folder, isOneOfSeveral: true)
      } reading: { (view) throws(Failure) in
        news += try view.update()
        report(view.damaged, in: view.folder)
      } reporting: { fault in
        if display == nil { output.message(fault.description) }
      }
      if let window = display?.nextFrame(on: &output) {
        var page = StatusPage(namesQueues: queues == .all)
        page.faults = views.faults.values.map(\.sentence).sorted()
        for view in views.readable where queues != .all || view.hasJobs {
          page.reports.append(try view.report())
        }
        display?.show(page.lines(in: window), every: page.interval, on: &output)
      } else if display == nil {
        for line in news { output.result("\(line)\n") }
        try output.flush()
      }
      _ = try waitForInput(
        on: [views.descriptor, wakeUp.descriptor],
        until: display?.deadline)
    }
    return signals.first.map { .ended(by: $0) } ?? .success
  }

  /// One queue, which is shown as empty until it exists.
  private func initial(_ queues: QueueSelection) throws(Failure) -> [StatusWatch] {
    guard case .one(let name) = queues else { return [] }
    return [StatusWatch(try spool().folder(named: name), isOneOfSeveral: false)]
  }
}

/// A queue that is read repeatedly.
private struct StatusWatch: WatchedQueue {
  let folder: QueueFolder
  private var reader: JournalReader
  var queue: Queue { reader.queue }
  private var progress = QueueProgress(Queue())
  private var isFirst = true
  /// Damaged lines found by the last read.
  private(set) var damaged: [DamagedLine] = []
  /// Whether lines name the queue.
  private let isOneOfSeveral: Bool

  init(_ folder: QueueFolder, isOneOfSeveral: Bool) {
    self.folder = folder
    self.isOneOfSeveral = isOneOfSeveral
    reader = JournalReader(folder)
  }

  /// Reads the journal and returns lines that report what changed; the first call reports the
  /// present state.
  mutating func update() throws(Failure) -> [String] {
    var lines: [String] = []
    let name = folder.name
    let news = try reader.readWithReports { [isFirst] entry, before, queue in
      guard !isFirst, let job = entry.job.flatMap(queue.job) else { return }
      lines += Self.lines(about: job, before: before, of: name)
    }
    damaged = news.damaged
    progress.update(queue, changes: reader.changes)
    if isFirst {
      isFirst = false
      progress = QueueProgress(queue)
      if isOneOfSeveral, !hasJobs { return [] }
      let page = StatusPage(namesQueues: isOneOfSeveral, reports: [try report()])
      return page.lines().map { $0.rendered(color: false) }
    }
    if let old = news.replaced {
      // The journal was rewritten: these lines are all of it.
      lines = queue.jobs.flatMap {
        Self.lines(about: $0, before: old.job($0.id), of: folder.name)
      }
    }
    let place = isOneOfSeveral ? "queue \(folder.name), " : ""
    return lines.map { place + $0 }
  }

  /// What changed in a job; `old` is nil if it was added.
  private static func lines(about job: Job, before old: Job?, of queue: String) -> [String] {
    var lines: [String] = []
    let (isSuspended, wasSuspended) = (job.suspendedSince != nil, old?.suspendedSince != nil)
    if old?.state != job.state || wasSuspended != isSuspended {
      let isBegin = job.state == .running && !isSuspended
      let text = isBegin ? wasSuspended ? "continues" : "begins" : job.outcomeText
      lines.append("job \(job.id) \(text): \(job.title)")
    }
    if let question = job.question, question != old?.question {
      lines.append(
        "job \(job.id) \(question.phrase) (answer it: \(advised("attach", in: queue)) \(job.id))")
    }
    return lines
  }

  var hasJobs: Bool { !queue.jobs.isEmpty }

  func report() throws(Failure) -> StatusReport {
    if queue.jobs.isEmpty {
      return StatusReport(empty: folder.name, hasOthers: false, isPaused: queue.isPaused)
    }
    return try StatusReport(folder, queue, progress)
  }
}
