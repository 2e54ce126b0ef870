import SerialqQueue
import SerialqRunner
import SerialqSystem
import SerialqWatch

// Collects the data of the report.
extension StatusReport {
  /// Reads the queue, its locks and the ends of its logs.
  init(_ folder: QueueFolder, _ queue: Queue, _ progress: QueueProgress) throws(Failure) {
    let now = Clock.reading()
    func age(_ moment: Timestamp?) -> Duration? {
      moment.map { .microseconds(max(0, now.date.microseconds - $0.microseconds)) }
    }
    self.queue = folder.name
    hasRunner = try RunnerLock.isHeld(folder)
    if !hasRunner { runnerSaid = folder.runnerSaid }
    hasFinishHook = queue.settings.onFinish != nil
    let open = queue.openJobs
    // A failure is shown with the jobs that it caused to be skipped: a long chain would hide it.
    var skips: [JobID: [JobID]] = [:]
    var heads: [Job] = []
    for job in open {
      if let cause = job.skippedBecause, queue.job(cause)?.isOpen == true {
        skips[cause, default: []].append(job.id)
      } else {
        heads.append(job)
      }
    }
    let shown = heads.suffix(Detail().troubles)
    for job in shown {
      let isSkipped = job.state == .skipped
      troubles.append(
        Trouble(
          id: job.id, title: job.title, outcome: job.outcomeText, age: age(job.ended),
          tail: isSkipped ? [] : try Self.tail(of: job, folder), isSkipped: isSkipped,
          skips: skips[job.id] ?? []))
    }
    moreTroubles = open.count - shown.count - troubles.reduce(0) { $0 + $1.skips.count }
    notes = try Self.notes(folder, queue)
    for job in queue.running.compactMap(queue.job) {
      var entry = try Self.running(job, folder, progress, hasRunner: hasRunner)
      entry.suspended = age(job.suspendedSince)
      running.append(entry)
    }
    pause = queue.properties.pause.map { Pause(age: age($0.at), because: $0.because) }
    waiting = queue.firstWaiting.map { job in
      let delay = job.delay(now)
      return Waiting(
        count: queue.count(.waiting), next: job.id, title: job.title,
        delay: delay > 0 ? .nanoseconds(delay) : nil, shortage: queue.shortage)
    }
    finish = progress.finished.map { start, end in
      let took = start.map { Duration.microseconds(end.microseconds - $0.microseconds) }
      return Finish(at: end, age: age(end) ?? .zero, took: took)
    }
    bar = progress.bar
    left = queue.isPaused ? nil : progress.left(queue)
    counts = JobState.allCases.compactMap { state in
      queue.count(state) > 0 ? "\(queue.count(state)) \(state.name)" : nil
    }
  }

  /// The report of a queue without jobs.
  init(
    empty queue: String, hasOthers: Bool, others: String? = nil, isPaused: Bool = false
  ) {
    self.queue = queue
    pause = isPaused ? Pause() : nil
    self.others = others
    self.hasOthers = hasOthers
  }

  private static func notes(
    _ folder: QueueFolder, _ queue: Queue
  ) throws(Failure) -> [Note] {
    var notes: [Note] = []
    if let (id, how) = queue.latestHookFailure {
      notes.append(
        Note(
          text: "The on-finish command of job \(id) \(how.outcomeText).",
          adviceName: "Output of on-finish", advice: "cat \(ShellQuote.word(folder.hookLog))"))
    }
    if let how = queue.properties.idleHookFailure {
      notes.append(
        Note(
          text: "The on-idle command \(how.outcomeText).", adviceName: "Output of on-idle",
          advice: "cat \(ShellQuote.word(folder.idleHookLog))"))
    }
    // Its lock shows that a process that could not be ended still runs.
    for job in queue.jobs where job.state.isOver {
      guard let left = job.execution?.left, try JobLock.isHeld(job.id, folder) else { continue }
      notes.append(
        Note(
          text: "Job \(job.id) is over, but a part of it still runs: \(Visible.text(left)).",
          adviceName: "Its details", advice: "\(advised("show", in: folder.name)) \(job.id)"))
    }
    // Compaction usually happens in a background runner, whose report goes only to its log.
    if try folder.hasDamagedLines() {
      notes.append(
        Note(
          text: "The journal was damaged; the unreadable lines are kept.",
          adviceName: "Damaged lines", advice: "cat -v \(ShellQuote.word(folder.damaged))"))
    }
    return notes
  }

  private static func running(
    _ job: Job, _ folder: QueueFolder, _ progress: QueueProgress, hasRunner: Bool
  ) throws(Failure) -> Running {
    var running = Running(
      id: job.id, title: job.title, elapsed: job.elapsed, expected: progress.expected(job),
      signal: job.running?.requests.last.map(SignalName.of),
      left: job.execution?.left.map { Visible.text($0) },
      tail: try tail(of: job, folder))
    if hasRunner {
      let isWaitedFor = try RunnerLock.orphan(folder) == job.id
      running.guardian = isWaitedFor ? .waitingRunner : .runner
    } else {
      running.guardian = try JobLock.isHeld(job.id, folder) ? .noRunner : .gone
    }
    if running.guardian != .runner {
      running.process = (try? JobLock.groups(of: job, folder))?.first
    }
    guard job.hadTerminal, running.guardian != .gone else { return running }
    if let question = job.question {
      running.question = question.phrase
      // Shown with the question.
      let text = Visible.text(question.text)
      if let last = running.tail.last, !text.isEmpty, last.hasPrefix(text) {
        running.tail.removeLast()
      }
    }
    running.hasLostTerminal = try KeeperLock.isLost(of: job, folder)
    running.unlogged = job.unloggedText
    return running
  }

  /// The last lines of the output that are not blank.
  private static func tail(of job: Job, _ folder: QueueFolder) throws(Failure) -> [String] {
    try LogReader.tail(
      of: folder.log(job.id), lines: 10, hasTerminal: job.hadTerminal
    ).filter { line in
      !line.allSatisfy(\.isWhitespace)
    }.suffix(Detail().runningTail).map { $0.cut(to: 1_000) }
  }
}
