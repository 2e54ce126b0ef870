import SerialqQueue
import SerialqRunner
import SerialqSystem
import SerialqWatch

/// `serialq wait`: waits until jobs, a whole queue or all queues are done.
struct WaitCommand: Equatable {
  var queues: QueueSelection
  /// Empty for whole queues.
  var jobs: JobSelection
  /// In seconds.
  var timeout: Int?
}

extension WaitCommand: Subcommand {
  static let spec = CommandSpec(
    name: .wait,
    summary: "wait until jobs, or the whole queue, are finished",
    synopsis: ["wait [options] [ID...]"],
    description: [
      """
      With one id or label, exits like that job: with its exit code, with 128+n if signal n \
      killed it, or with 124 if it timed out. A job that was interrupted, skipped, or cancelled \
      before it ran has no code: then wait exits with 1, as it does if a cancelled job exited \
      with 0.
      """,
      """
      With several jobs, exits with 1 if one of the jobs did not succeed, else with 0; a list or \
      a range of several ids means several, even if only one of the jobs is left.
      """,
      """
      Without ids, waits for the whole queue, and exits with 1 if a job that failed or was skipped \
      is open or a job still waits, else with 0; an open job that ended before is said to have done so. \
      With --all, does so for all queues, also for those \
      that are created during the wait.
      """,
      """
      Starts a runner if it waits for one. In a paused queue, waiting jobs do not run: wait fails at \
      once, or at the end of the running job if the queue is paused later. It also fails while the \
      running job is suspended. With --all, reports such a queue, or one that cannot be read, waits \
      for the others, and then fails. Ctrl-C ends only wait: the jobs continue.
      """,
      """
      On a terminal, shows the running job, the progress and an estimate of the remaining time.
      """,
    ],
    options: QueueSelection.options + [
      OptionSpec(
        .timeout, value: OptionValue(.duration, "TIME"),
        help: "Gives up after TIME and exits with 124."
      )
    ],
    operands: .jobIDs,
    examples: [
      Example("serialq wait && echo done", "the whole queue"),
      Example("serialq wait 12", "job 12, and its exit code"),
      Example("serialq wait --timeout 1h 3-7 9", "several jobs, at most an hour"),
      Example("serialq wait --all", "all queues"),
    ]
  )

  static func takes(_ job: Job) -> Bool { !job.state.isOver }

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(
      queues: try QueueSelection(parsing: words, queue: queue, takesJobs: true),
      jobs: JobSelection(words.operands), timeout: words.seconds(.timeout))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    let spool = try session.spool()
    if case .one(let name) = queues, try spool.existingQueue(named: name) == nil {
      // A mistyped name must not let `wait && deploy` continue; the default queue cannot be
      // mistyped.
      guard jobs.isEmpty, name == QueueName.standard else { throw session.noJobs(in: name) }
      session.reportNoJobs(in: name)
      return .success
    }
    if queues == .all, try !spool.exists() { return .success }
    let wakeUp = try WakeUpPipe()
    var display =
      session.traits.isLive
      ? try WaitDisplay(of: subject, session.traits) { wakeUp.wake() } : nil
    defer { session.output.hide() }
    try session.interrupt(of: queues)
    let deadline = timeout.map { Clock.monotonic() + Int64($0) * 1_000_000_000 }
    // Without the logs: the output of a job changes nothing for those that wait.
    var waits = try WatchedQueues<Waiting>(spool, queues, logs: false)
    var marks: [String: WaitMark] = [:]
    var hasWaited = false
    while true {
      wakeUp.drain()
      try update(&waits, &marks, in: session)
      if waits.readable.allSatisfy(\.isDone) { break }
      hasWaited = true
      if let deadline, deadline <= Clock.monotonic() { throw gaveUp() }
      display?.draw(waits.members, namesQueues: queues == .all, on: &session.output)
      _ = try waitForInput(
        on: [waits.descriptor, wakeUp.descriptor] + waits.members.compactMap(\.runnerEnd),
        until: [deadline, display?.deadline].compactMap(\.self).min())
    }
    session.output.hide()
    marks = [:]
    // Durable before it is reported.
    for waiting in waits.readable { try waiting.flush() }
    let codes = waits.members.compactMap { reportResult($0, hasWaited, in: session) }
    return .worst(of: waits.faults.values.map(\.code)) ?? codes.first ?? .success
  }

  /// Reads the queues, and starts the runners that are missing.
  private func update(
    _ waits: inout WatchedQueues<Waiting>, _ marks: inout [String: WaitMark], in session: Session
  ) throws(Failure) {
    func mark(_ waiting: Waiting) throws(Failure) {
      marks[waiting.folder.name] = try session.willWait(
        "wait", for: waiting.awaited, waiting.queue, waiting.folder, marks: timeout == nil)
    }
    try waits.update { (folder) throws(Failure) in
      try Waiting(folder, jobs, startingIfNeeded: .own)
    } checking: { (waiting) throws(Failure) in
      if !waiting.isDone { try mark(waiting) }
    } reading: { (waiting) throws(Failure) in
      session.report(try waiting.look(), in: waiting.folder)
      if let text = waiting.newShortage() { session.output.message("serialq: \(text)") }
    } reporting: { fault in
      session.output.message(fault.description)
    }
    for waiting in waits.readable where !waiting.isDone {
      // The next of several jobs.
      let known = marks[waiting.folder.name]
      if let known, known.job != waiting.awaited { try mark(waiting) }
    }
  }

  /// What is waited for, to follow "waiting for".
  private var subject: String {
    switch queues {
    case .all: "all queues"
    case .one(let name): jobs.isEmpty ? "queue \(name)" : "jobs of queue \(name)"
    }
  }

  private func gaveUp() -> Failure {
    var status = advised("status --all")
    if case .one(let name) = queues { status = advised("status", in: name) }
    return Failure(
      "wait", "gave up after \(Humanize.duration(.seconds(timeout ?? 0)))",
      next: "The jobs continue. See the progress: \(status)", code: .timedOut)
  }

  /// Reports jobs that did not succeed, and returns the exit code; nil if there are none.
  private func reportResult(
    _ waiting: Waiting, _ hasWaited: Bool, in session: Session
  ) -> ExitCode? {
    let failed = waiting.unsuccessful
    let place = queues == .all ? "queue \(waiting.folder.name), " : ""
    for job in failed.suffix(5) {
      let age = waiting.endedBefore(job).map { Humanize.age(since: $0) }
      // What has just ended, and left nothing to wait for, is what the user asks about.
      let isOld = hasWaited || age != Humanize.justNow
      let before = isOld ? age.map { ", \($0), before this wait" } ?? "" : ""
      session.output.message(
        "serialq: \(place)job \(job.id) \(job.outcomeText)\(before): \(job.title)")
    }
    if failed.count > 5 {
      session.output.message(
        """
        serialq: \(place)and \(failed.count - 5) more before them: \
        \(advised("list", in: waiting.folder.name)) --open
        """)
    }
    if let job = failed.last(where: \.state.isFailure) {
      session.suggestLog(job.id, in: waiting.folder.name)
    } else if let job = failed.last(where: \.state.opens) {
      session.output.message("See why: \(advised("show", in: waiting.folder.name)) \(job.id)")
    }
    if jobs.isEmpty, !failed.isEmpty {
      session.output.message("Mark as seen: \(advised("ack", in: waiting.folder.name)) --all")
    }
    if let id = waiting.onlyID { return failed.first { $0.id == id }?.status.code }
    return failed.isEmpty ? nil : .jobFailed
  }
}

extension Waiting: WatchedQueue {}

extension JobStatus {
  /// The exit code for the outcome of the job.
  var code: ExitCode {
    switch (state, ending?.shellCode) {
    case (.succeeded, _): .success
    case (.timedOut, _): .timedOut
    case (_, let code?) where code != .success: code
    // Interrupted, cancelled, skipped, or terminated with exit code 0: no code of its own.
    default: .jobFailed
    }
  }
}
