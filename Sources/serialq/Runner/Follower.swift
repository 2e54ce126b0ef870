import SerialqQueue
import SerialqSystem

/// Prints what the jobs of a queue print, from job to job, as it comes; whoever runs them.
package struct Follower {
  /// What is followed.
  package enum Subject: Equatable {
    case queue
    case job(JobID)
  }

  /// How it is printed.
  package struct Manner {
    /// Whether beginnings and ends that went well are said too.
    var isTalkative = false
    /// Whether that is said on the terminal that has the output too, so that lines have to be ended.
    var sharesTerminal = false
    /// Whether something is drawn below the output, which therefore comes in whole lines.
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
  private let manner: Manner
  private let watch: FileWatch
  private var reader: JournalReader
  package private(set) var queue = Queue()
  private var current: (attempt: Attempt, log: LogReader)?
  /// The last attempt at the current job whose failure, with another one to follow, has been told.
  private var left = 0

  /// Jobs that ended before this began to look, or whose end has been told.
  private var told: Set<Attempt> = []
  /// Jobs whose end has been told, and was a failure.
  package private(set) var failed: [JobID] = []
  package private(set) var succeeded = 0
  /// How often the queue has changed.
  package private(set) var changes = 0

  /// One attempt at a job: each has an end of its own.
  private struct Attempt: Hashable {
    var id: JobID
    var number: Int

    init(_ job: Job) {
      id = job.id
      number = job.run?.attempt ?? 0
    }
  }

  /// Begins to look: what has ended by now is not told.
  package init(_ folder: QueueFolder, _ subject: Subject, _ manner: Manner) throws(Failure) {
    self.folder = folder
    self.subject = subject
    self.manner = manner
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

  /// Whether nothing more will come, as far as the journal says.
  package var isAtEnd: Bool {
    switch subject {
    case .queue: queue.running.isEmpty && queue.count(.waiting) == 0
    case .job(let id): queue.job(id).map(\.state.isOver) ?? true
    }
  }

  /// The line that the running job has begun to print and not ended, if output comes in whole
  /// lines.
  package mutating func openLine() throws(Failure) -> String? {
    try current?.log.openLine()
  }

  /// Sleeps until something may have happened: in the queue, or at one of the descriptors.
  package func wait(
    orFor descriptors: [Int32] = [], timeoutMilliseconds: Int32? = nil
  ) throws(Failure) {
    _ = try attempt("waiting") { () throws(SystemError) in
      try waitForInput(
        on: [watch.descriptor] + descriptors, timeoutMilliseconds: timeoutMilliseconds)
    }
  }

  /// Prints what has come since the last call.
  package mutating func advance(_ output: inout Output) throws(Failure) {
    watch.drain()
    var changed: [JobID] = []
    var ended: [JobID: JobState] = [:]
    var lost: [JobID] = []
    let news = try reader.read(into: &queue) { event in
      // In the order in which they ran. Being added comes before that of others, and tells nothing.
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
    // Every event was told again, so those of old jobs too.
    if news.reset { (changed, lost) = (queue.jobs.map(\.id), []) }
    try tell(of: lost.filter(isWanted), ended, &output)
    for id in changed { try follow(id, &output) }
    switch subject {
    case .queue: try follow(queue.running.first, &output)
    // Even if nothing tells of it: it may have ended just before this began to look.
    case .job(let id): try follow(id, &output)
    }
    try printLog(&output)
  }

  /// Goes on to a job that has begun, and tells the end of one that is over.
  private mutating func follow(_ id: JobID?, _ output: inout Output) throws(Failure) {
    guard let id, isWanted(id), let job = queue.job(id) else { return }
    if job.state == .waiting { return try leave(job, &output) }
    guard !told.contains(Attempt(job)) else { return }
    // It never ran, so it has no log, and the one that is being printed goes on.
    if job.run?.started == nil, job.state == .cancelled || job.state == .skipped {
      return tellEnd(of: job, &output)
    }
    if current?.attempt != Attempt(job) {
      // An orphan's log goes on; but the end of the job before has been told, so leave it.
      try printLog(&output, toEnd: true)
      begin(job, &output)
      if manner.isTalkative { output.message("[\(id)] \(job.title)") }
    }
    guard job.state.isOver else { return }
    try printLog(&output, toEnd: true)
    current = nil
    tellEnd(of: job, &output)
  }

  /// Prints the rest of an attempt that failed, and is to be followed by another.
  private mutating func leave(_ job: Job, _ output: inout Output) throws(Failure) {
    guard let current, current.attempt.id == job.id else { return }
    try printLog(&output, toEnd: true)
    tellFailures(of: job, upTo: job.run?.attempt ?? 0, &output)
  }

  /// Goes on to another attempt; if it follows by itself, the same log goes on.
  private mutating func begin(_ job: Job, _ output: inout Output) {
    let attempt = Attempt(job)
    let retries = job.run?.used ?? 0
    if retries > 0, let current, current.attempt.id == job.id {
      self.current = (attempt, current.log)
    } else {
      current = (attempt, LogReader(folder.log(job.id)))
      left = attempt.number - retries - 1
    }
    // Whoever looks too seldom finds several attempts at once.
    tellFailures(of: job, upTo: attempt.number - 1, &output)
  }

  /// Tells of attempts that failed and were followed by another.
  private mutating func tellFailures(of job: Job, upTo last: Int, _ output: inout Output) {
    while left < last {
      left += 1
      output.message(
        manner.isTalkative
          ? "[\(job.id)] attempt \(left) failed; it is tried again"
          : "serialq: job \(job.id) failed, attempt \(left); it is tried again")
    }
  }

  /// Tells of jobs that have ended since the last look and are forgotten already, with their logs:
  /// whose reader is slow looks too seldom to see them all.
  private mutating func tell(
    of lost: [JobID], _ ended: [JobID: JobState], _ output: inout Output
  ) throws(Failure) {
    var unseen: [JobID] = []
    for id in lost {
      if current?.attempt.id == id {
        // Open, so it is still there.
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
      serialq: \(jobs) \(JobID.text(of: unseen, separator: ", ")): forgotten before the output \
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
    if manner.isTalkative {
      output.message("[\(job.id)] \(job.outcomeText)")
    } else if job.state.isFailure {
      output.message("serialq: job \(job.id) \(job.outcomeText): \(job.title)")
    }
  }

  private mutating func printLog(
    _ output: inout Output, toEnd: Bool = false
  ) throws(Failure) {
    guard var log = current?.log else { return }
    try log.print(to: &output, wholeLines: manner.isAboveDisplay && !toEnd)
    current?.log = log
    // What comes next on the terminal is not a part of the job's last line.
    if toEnd, manner.isTalkative, manner.sharesTerminal {
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
