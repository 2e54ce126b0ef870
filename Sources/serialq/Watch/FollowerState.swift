import SerialqQueue
import SerialqSystem

/// Decides what a ``Follower`` prints, in which order and from which log; reads and prints nothing.
struct FollowerState {
  /// What to do next, in the order of the array that ``advance(_:to:)`` returns.
  enum Action: Equatable {
    /// Open the log of this attempt at its start, in place of the open one.
    case open(AttemptID)
    /// Print the new part of the open log; with a live display, only its complete lines.
    case printNew
    /// Print the new part of the open log with its incomplete last line.
    case printRest
    /// Complete the last line, so that the next message starts a new one.
    case endLine
    /// Close the log, which ended with this attempt.
    case close(AttemptID)
    /// Print a line to standard error.
    case message(String)
  }

  /// What one read of the journal reported.
  struct Changes {
    /// A job from when it is added, or queued again by hand, to its end: this has a log of its own.
    private struct Turn {
      let id: JobID
      /// The turn of the job before this one.
      let previous: Int?
      /// The job at the end: the queue may have forgotten it, or it runs again.
      var ended: Job?
    }
    private var turns: [Turn] = []
    /// The turns whose jobs changed their attempts or states, as often as they did.
    private var changed: [Int] = []
    /// The latest turn of each changed job.
    private var latest: [JobID: Int] = [:]
    /// The jobs that were queued again by hand.
    private(set) var requeued: [JobID] = []
    /// The queue before, if it was rebuilt, so that lines about old jobs were reported again.
    var replaced: Queue?

    init() {}

    /// Notes a line; `before` is the job before it, nil if it was added.
    mutating func note(_ entry: Entry, _ before: Job?, _ queue: borrowing Queue) {
      switch entry {
      case .job(let id, _): if before == nil { note(id, isRequeued: false, nil) }
      case .status(let id, let status):
        let state = status.state
        guard let before, before.state != state || before.attempts != status.attempts
        else { return }
        let isRequeued =
          before.state.isOver && !state.isOver && status.retriesUsed <= before.retriesUsed
        note(id, isRequeued: isRequeued, state.isOver ? queue.job(id) : nil)
      case .queue, .forgotten: break
      }
    }

    private mutating func note(_ id: JobID, isRequeued: Bool, _ ended: Job?) {
      let index: Int
      if !isRequeued, let known = latest[id] {
        index = known
      } else {
        index = turns.count
        turns.append(Turn(id: id, previous: latest.updateValue(index, forKey: id)))
        if isRequeued { requeued.append(id) }
      }
      turns[index].ended = ended
      changed.append(index)
    }

    /// Calls `body` for each of these jobs once for each turn, in the order in which they reached
    /// their last states there, with whether another turn followed; O(lines).
    ///
    /// Other changes come at any time: a job must not be reported before the jobs that ran in
    /// between.
    fileprivate func forEachJob(in queue: Queue, _ body: (Job, _ isRequeued: Bool) -> Void) {
      var isSeen = Array(repeating: false, count: turns.count)
      let last = changed.reversed().filter { index in
        defer { isSeen[index] = true }
        return !isSeen[index]
      }
      for index in last.reversed() {
        let turn = turns[index]
        let isLatest = index == latest[turn.id]
        let job = (isLatest ? queue.job(turn.id) : nil) ?? turn.ended
        if let job, isNew(job, queue) { body(job, !isLatest) }
      }
    }

    /// Whether a job was not reported by an earlier read, if it is no longer in the queue as it
    /// was.
    private func isNew(_ job: Job, _ queue: Queue) -> Bool {
      guard let replaced, job.id < replaced.nextID, queue.job(job.id)?.attempts != job.attempts
      else { return true }
      // If it is not known, it was forgotten before.
      return replaced.job(job.id).map { !$0.state.isOver || $0.attempts < job.attempts } ?? false
    }

    /// The job at the end of this attempt, if that was reported.
    func job(_ attempt: AttemptID) -> Job? {
      var next = latest[attempt.id]
      while let index = next {
        if let job = turns[index].ended, job.attempts == attempt.number { return job }
        next = turns[index].previous
      }
      return nil
    }

    /// Whether the end of a job was reported.
    fileprivate func hasEnded(_ id: JobID) -> Bool {
      latest[id].map { turns[$0].ended != nil } ?? false
    }
  }

  private let queueName: String
  private let subject: Follower.Subject
  private let style: Follower.OutputStyle
  /// The attempt whose log is open.
  private var current: AttemptID?
  /// The last reported failed attempt of the current job that was followed by another.
  private var reportedFailures = 0
  /// Attempts that ended before following began, or whose end was reported.
  private var reported: Set<AttemptID> = []
  /// Attempts of waiting jobs that were printed, or ended before following began.
  private var retried: Set<AttemptID> = []
  /// The first job that was reported as failed.
  private(set) var firstFailed: JobID?
  /// The number of jobs whose ends were reported, by state; nil if it is not known.
  private(set) var counts: [JobState?: Int] = [:]
  /// The job of interest, and how it ended.
  var chosen: JobID?
  private(set) var result: JobStatus?
  private var actions: [Action] = []
  /// What was reported as missing to start the next job.
  private var shortage: String?

  /// Starts following; attempts that have ended by now are not reported, unless of a single job.
  init(
    _ queue: Queue, named name: String, _ subject: Follower.Subject, _ style: Follower.OutputStyle
  ) {
    queueName = name
    self.subject = subject
    self.style = style
    if subject == .queue {
      for job in queue.jobs where job.state.isOver { reported.insert(AttemptID(job)) }
      for job in queue.jobs where job.state == .waiting { retried.insert(AttemptID(job)) }
    }
  }

  /// Whether no more output will follow.
  func isAtEnd(_ queue: Queue) -> Bool {
    switch subject {
    case .queue: queue.running.isEmpty && queue.count(.waiting) == 0
    case .job(let id): queue.job(id).map(\.state.isOver) ?? true
    }
  }

  /// Whether no more output can follow until the queue is resumed.
  func isBlocked(_ queue: Queue) -> Bool {
    if !queue.suspended.isEmpty { return true }
    guard queue.isPaused else { return false }
    return switch subject {
    case .queue: queue.running.isEmpty
    case .job(let id): queue.job(id)?.state == .waiting
    }
  }

  /// Returns what to print, now that these changes have led to this queue.
  mutating func advance(_ changes: Changes, to queue: Queue) -> [Action] {
    actions = []
    if let old = changes.replaced {
      // What is no longer there has ended unseen, unless its line was taken back: it could not be
      // flushed.
      let unseen = old.jobs.filter { !reported.contains(AttemptID($0)) }.map(\.id)
      let ids = unseen + (1..<queue.nextID).dropFirst(old.nextID - 1)
      reportForgotten(
        ids.filter {
          $0 < queue.nextID && queue.job($0) == nil && !changes.hasEnded($0) && isWanted($0)
        })
    }
    changes.forEachJob(in: queue) { job, isRequeued in
      if isRequeued { printEnded(job) } else { follow(job) }
    }
    switch subject {
    case .queue: follow(queue.running.first.flatMap(queue.job))
    // Also without a line: the job may have ended just before following began.
    case .job(let id): follow(queue.job(id))
    }
    if current != nil { actions.append(.printNew) }
    if let text = queue.shortage, text != shortage {
      shortage = text
      actions += [.endLine, .message("serialq: \(place)\(text)")]
    }
    return actions
  }

  private func isWanted(_ id: JobID) -> Bool {
    switch subject {
    case .queue: true
    case .job(let wanted): wanted == id
    }
  }

  /// Switches to a job that has started, or reports the end of one.
  private mutating func follow(_ job: Job?) {
    guard let job, isWanted(job.id) else { return }
    if job.state == .waiting { return wait(job) }
    guard !reported.contains(AttemptID(job)) else { return }
    // The job never ran, so it has no log; the current log continues.
    if job.started == nil, job.state == .cancelled || job.state == .skipped {
      return reportEnd(of: job)
    }
    if current != AttemptID(job) {
      // The log of an orphan may still grow, but the end of its job was reported.
      printRest()
      begin(job)
      reportStart(of: job)
    }
    guard job.state.isOver else { return }
    printRest()
    close()
    reportEnd(of: job)
  }

  /// Prints the output of a job that ended and was queued again since the last call: its next
  /// attempt has another log.
  private mutating func printEnded(_ job: Job) {
    guard isWanted(job.id), job.started != nil, !reported.contains(AttemptID(job)),
      retried.insert(AttemptID(job)).inserted
    else { return }
    if current != AttemptID(job) {
      printRest()
      begin(job)
      reportStart(of: job)
    }
    printRest()
    if job.state.isFailure { reportFailures(of: job, upTo: job.attempts) }
    reportedFailures = job.attempts
  }

  /// Prints the rest of a failed attempt that will be retried, or its log if following begins now.
  private mutating func wait(_ job: Job) {
    if current == nil, job.hasRun, subject == .job(job.id) {
      actions.append(.open(AttemptID(job)))
      current = AttemptID(job)
      reportedFailures = job.attempts
    } else if current?.id != job.id, subject == .queue, job.hasRun,
      !retried.contains(AttemptID(job)), !reported.contains(AttemptID(job))
    {
      // The attempt started and failed since the last call: its output must not wait for the next.
      printRest()
      actions.append(.open(AttemptID(job)))
      current = AttemptID(job)
      reportedFailures = job.attempts - job.retriesUsed
      reportStart(of: job)
    }
    guard current?.id == job.id else { return }
    retried.insert(AttemptID(job))
    printRest()
    reportFailures(of: job, upTo: job.attempts)
  }

  /// Switches to another attempt; an automatic retry continues the same log.
  private mutating func begin(_ job: Job) {
    let attempt = AttemptID(job)
    let retries = job.retriesUsed
    if retries == 0 || current?.id != job.id {
      actions.append(.open(AttemptID(job)))
      reportedFailures = attempt.number - retries - 1
    }
    current = attempt
    // Several attempts may have ended since the last call.
    reportFailures(of: job, upTo: attempt.number - 1)
  }

  /// Reports failed attempts that were followed by another.
  private mutating func reportFailures(of job: Job, upTo last: Int) {
    while reportedFailures < last {
      reportedFailures += 1
      actions.append(
        .message(
          style.isTalkative
            ? "[\(mark(job.id))] attempt \(reportedFailures) failed; retrying"
            : "serialq: \(place)job \(job.id) failed, attempt \(reportedFailures); retrying"))
    }
  }

  /// Reports jobs that ended since the last call, and of which nothing is left in the journal.
  ///
  /// Happens when the reader of the output is slow.
  private mutating func reportForgotten(_ forgotten: [JobID]) {
    var unprinted: [JobID] = []
    for id in forgotten {
      if current?.id == id {
        // An open log stays readable after its deletion.
        printRest()
        close()
      } else {
        unprinted.append(id)
      }
      count(id, nil)
    }
    guard !unprinted.isEmpty else { return }
    let jobs = unprinted.count == 1 ? "job" : "jobs"
    actions.append(
      .message(
        """
        serialq: \(place)\(jobs) \(JobID.text(of: unprinted, separator: ", ")): removed before the output \
        could be printed
        """))
  }

  /// The message for a job whose log was removed, for example by hand.
  func lost(_ id: JobID) -> String {
    "serialq: \(place)job \(id): its log was removed before the output could be printed"
  }

  private mutating func reportStart(of job: Job) {
    if style.isTalkative { actions.append(.message("[\(mark(job.id))] \(job.title)")) }
  }

  private mutating func reportEnd(of job: Job) {
    reported.insert(AttemptID(job))
    count(job.id, job.status)
    if style.isTalkative {
      let line = "[\(mark(job.id))] \(job.outcomeText)"
      let color = style.hasColor && job.state.isFailure ? Color.red : nil
      actions.append(.message(StyledLine(line, color).rendered(color: true)))
    } else if job.state != .succeeded {
      actions.append(.message("serialq: \(place)job \(job.id) \(job.outcomeText): \(job.title)"))
    }
  }

  private mutating func count(_ id: JobID, _ status: JobStatus?) {
    counts[status?.state, default: 0] += 1
    if status?.state.isFailure == true { firstFailed = firstFailed ?? id }
    if id == chosen { result = status }
  }

  private mutating func printRest() {
    guard current != nil else { return }
    actions.append(.printRest)
    if style.isOneOfSeveral || style.isTalkative && style.sharesTerminal {
      actions.append(.endLine)
    }
  }

  /// The id of a job in a report on a terminal.
  private func mark(_ id: JobID) -> String { style.isOneOfSeveral ? "\(queueName) \(id)" : "\(id)" }

  /// The queue, to precede a job in a report.
  private var place: String { style.isOneOfSeveral ? "queue \(queueName), " : "" }

  private mutating func close() {
    guard let current = current.take() else { return }
    actions.append(.close(current))
  }
}

/// The latest attempt at a job.
package struct AttemptID: Hashable {
  var id: JobID
  var number: Int
}

extension AttemptID {
  package init(_ job: Job) { self.init(id: job.id, number: job.attempts) }
}
