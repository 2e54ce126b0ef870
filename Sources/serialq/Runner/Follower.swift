import SerialqQueue
import SerialqSystem

/// Prints the output of a queue's jobs as it is written, in the order of the jobs.
///
/// Works with any runner: reads only the journal and the logs.
package struct Follower {
  package enum Subject: Equatable {
    case queue
    case job(JobID)
  }

  package struct OutputStyle {
    /// Whether starts and successful ends are reported too.
    var isTalkative = false
    /// Whether reports go to the same terminal as the output, so that lines must be completed
    /// first.
    var sharesTerminal = false
    /// Whether a live display is drawn below the output, which must then consist of complete lines.
    var isAboveDisplay = false

    package init(
      isTalkative: Bool = false, sharesTerminal: Bool = false, isAboveDisplay: Bool = false
    ) {
      self.isTalkative = isTalkative
      self.sharesTerminal = sharesTerminal
      self.isAboveDisplay = isAboveDisplay
    }
  }

  private let folder: QueueFolder
  private let subject: Subject
  private let style: OutputStyle
  private let watch: FileWatch
  private var reader: JournalReader
  package private(set) var queue = Queue()
  private var current: (attempt: Attempt, log: LogReader)?
  /// The last reported failed attempt of the current job that was followed by another.
  private var left = 0

  /// Attempts that ended before following began, or whose end was reported.
  private var told: Set<Attempt> = []
  /// Jobs that were reported as failed.
  package private(set) var failed: [JobID] = []
  package private(set) var succeeded = 0
  /// The number of changes of the queue so far.
  package private(set) var changes = 0

  /// An attempt at a job; each one is reported separately.
  private struct Attempt: Hashable {
    var id: JobID
    var number: Int

    init(_ job: Job) {
      id = job.id
      number = job.run?.attempt ?? 0
    }
  }

  /// Starts following; attempts that have ended by now are not reported.
  package init(_ folder: QueueFolder, _ subject: Subject, _ style: OutputStyle) throws(Failure) {
    self.folder = folder
    self.subject = subject
    self.style = style
    reader = JournalReader(folder)
    watch = try attempt("watching \(folder.path.text)") { () throws(SystemError) in
      try FileWatch(folders: [folder.path, folder.logs])
    }
    _ = try reader.read(into: &queue)
    if subject == .queue {
      for job in queue.jobs where job.state.isOver { told.insert(Attempt(job)) }
    }
  }

  package var queueName: String { folder.name.text }

  /// Whether no more output will follow, according to the journal.
  package var isAtEnd: Bool {
    switch subject {
    case .queue: queue.running.isEmpty && queue.count(.waiting) == 0
    case .job(let id): queue.job(id).map(\.state.isOver) ?? true
    }
  }

  /// The incomplete last line of the running job, if only complete lines are printed.
  package mutating func openLine() throws(Failure) -> String? {
    try current?.log.openLine()
  }

  /// Waits until the queue or one of the descriptors may have changed.
  package func wait(
    orFor descriptors: [Int32] = [], timeoutMilliseconds: Int32? = nil
  ) throws(Failure) {
    _ = try attempt("waiting") { () throws(SystemError) in
      try waitForInput(
        on: [watch.descriptor] + descriptors, timeoutMilliseconds: timeoutMilliseconds)
    }
  }

  /// Prints everything new since the last call.
  package mutating func advance(_ output: inout Output) throws(Failure) {
    watch.drain()
    var changed: [JobID] = []
    var ended: [JobID: JobState] = [:]
    var lost: [JobID] = []
    let news = try reader.read(into: &queue) { event in
      // Collects ids in the order of running. Skips `added`, which precedes the events of earlier
      // jobs.
      switch event {
      case .added: return
      case .ended(let id, _, _, let how, let cause): ended[id] = how.state(because: cause)
      case .retried(let retry): ended[retry.id] = nil
      case .forgotten(let ids, _): lost += ids.joined().filter { ended[$0] != nil }
      default: break
      }
      if let id = event.job, changed.last != id { changed.append(id) }
    }
    if news.reset || news.applied > 0 { changes += 1 }
    // After a reset every event is reported again, including those of old jobs.
    if news.reset { (changed, lost) = (queue.jobs.map(\.id), []) }
    try tell(of: lost.filter(isWanted), ended, &output)
    for id in changed { try follow(id, &output) }
    switch subject {
    case .queue: try follow(queue.running.first, &output)
    // Also without an event: the job may have ended just before following began.
    case .job(let id): try follow(id, &output)
    }
    try printLog(&output)
  }

  /// Switches to a job that has started, or reports the end of one.
  private mutating func follow(_ id: JobID?, _ output: inout Output) throws(Failure) {
    guard let id, isWanted(id), let job = queue.job(id) else { return }
    if job.state == .waiting { return try leave(job, &output) }
    guard !told.contains(Attempt(job)) else { return }
    // The job never ran, so it has no log; the current log continues.
    if job.run?.started == nil, job.state == .cancelled || job.state == .skipped {
      return tellEnd(of: job, &output)
    }
    if current?.attempt != Attempt(job) {
      // The log of an orphan may still grow, but the end of its job was reported.
      try printLog(&output, toEnd: true)
      begin(job, &output)
      if style.isTalkative { output.message("[\(id)] \(job.title)") }
    }
    guard job.state.isOver else { return }
    try printLog(&output, toEnd: true)
    current = nil
    tellEnd(of: job, &output)
  }

  /// Prints the rest of a failed attempt that will be retried.
  private mutating func leave(_ job: Job, _ output: inout Output) throws(Failure) {
    guard let current, current.attempt.id == job.id else { return }
    try printLog(&output, toEnd: true)
    tellFailures(of: job, upTo: job.run?.attempt ?? 0, &output)
  }

  /// Switches to another attempt; an automatic retry continues the same log.
  private mutating func begin(_ job: Job, _ output: inout Output) {
    let attempt = Attempt(job)
    let retries = job.run?.used ?? 0
    if retries > 0, let current, current.attempt.id == job.id {
      self.current = (attempt, current.log)
    } else {
      current = (attempt, LogReader(folder.log(job.id)))
      left = attempt.number - retries - 1
    }
    // Several attempts may have ended since the last call.
    tellFailures(of: job, upTo: attempt.number - 1, &output)
  }

  /// Reports failed attempts that were followed by another.
  private mutating func tellFailures(of job: Job, upTo last: Int, _ output: inout Output) {
    while left < last {
      left += 1
      output.message(
        style.isTalkative
          ? "[\(job.id)] attempt \(left) failed; retrying"
          : "serialq: job \(job.id) failed, attempt \(left); retrying")
    }
  }

  /// Reports jobs that ended since the last call and are already forgotten, along with their logs.
  ///
  /// Happens when the reader of the output is slow.
  private mutating func tell(
    of lost: [JobID], _ ended: [JobID: JobState], _ output: inout Output
  ) throws(Failure) {
    var unseen: [JobID] = []
    for id in lost {
      if current?.attempt.id == id {
        // An open log stays readable after its deletion.
        try printLog(&output, toEnd: true)
        current = nil
      } else {
        unseen.append(id)
      }
      count(id, ended[id])
    }
    guard !unseen.isEmpty else { return }
    let jobs = unseen.count == 1 ? "job" : "jobs"
    output.message(
      """
      serialq: \(jobs) \(JobID.text(of: unseen, separator: ", ")): removed before the output \
      could be printed
      To keep more jobs: serialq set\(QueueName.option(for: queueName)) keep N
      """)
  }

  private mutating func count(_ id: JobID, _ state: JobState?) {
    if state == .succeeded { succeeded += 1 }
    if state?.isFailure == true { failed.append(id) }
  }

  private mutating func tellEnd(of job: Job, _ output: inout Output) {
    told.insert(Attempt(job))
    count(job.id, job.state)
    if style.isTalkative {
      output.message("[\(job.id)] \(job.outcomeText)")
    } else if job.state.isFailure {
      output.message("serialq: job \(job.id) \(job.outcomeText): \(job.title)")
    }
  }

  private mutating func printLog(
    _ output: inout Output, toEnd: Bool = false
  ) throws(Failure) {
    guard var log = current?.log else { return }
    try log.print(to: &output, wholeLines: style.isAboveDisplay && !toEnd)
    current?.log = log
    // Completes the last line of the job, so that the next message starts a new one.
    if toEnd, style.isTalkative, style.sharesTerminal {
      output.endLine()
      output.emit()
    }
  }

  private func isWanted(_ id: JobID) -> Bool {
    switch subject {
    case .queue: true
    case .job(let wanted): wanted == id
    }
  }
}
