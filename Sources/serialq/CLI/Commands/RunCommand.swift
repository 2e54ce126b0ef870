import SerialPromises
import SerialqQueue
import SerialqRunner
import SerialqSystem
import SerialqWatch

/// `serialq run`: runs the queue in the foreground until it is empty, and prints the output.
struct RunCommand: Equatable {
  var job: JobOptions
  /// The jobs to add first; `nil` runs only those already waiting.
  var source: JobSource?
}

extension RunCommand: Subcommand {
  static let spec = CommandSpec(
    name: .run,
    summary: "run the queue in the foreground until it is empty",
    synopsis: [
      "run [options]",
      "run [options] 'COMMAND LINE'",
      "run [options] [--] PROGRAM ARGUMENT...",
      "run [options] -c LINE",
      "run [options] -f FILE",
    ],
    description: [
      """
      Queues the given command like add, and runs the queue in order in the foreground until no \
      job waits. If a runner is already active, follows it instead. If the queue is paused, a \
      given command is refused and not queued.
      """,
      """
      Ctrl-C cancels the running job and starts no other. If the terminal closes, or on SIGTERM, \
      the job is ended too, but counts as interrupted, which is a failure. While run follows \
      another runner, all three end only run. For one command, exits as wait ID does; else with 1 \
      if a job of this run did not succeed.
      """,
    ],
    details: [
      """
      serialq dies of a signal that ends it: after Ctrl-C, a shell ends its loop and reports 130.
      """,
      """
      The jobs run to their end even if the reader of the output exits or the output cannot be \
      written. In the second case run reports it at the end and exits with 125.
      """,
      """
      At the end of a job, run restores what its output has changed on the terminal, as log does.
      """,
      #"""
      With -t, run attaches its terminal to each of the added jobs while the job runs: keys, also \#
      Ctrl-C, go to the job, until Ctrl-\ detaches the terminal. See TERMINALS below.
      """#,
    ],
    options: JobOptions.options,
    operands: .jobCommand,
    examples: [
      Example("serialq run", "the waiting jobs"),
      Example("serialq run -t make menuconfig", "and an interactive one"),
      Example("printf '%s\\n' 'echo 1' 'echo 2' | serialq run -f -", "jobs from a pipe"),
    ]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    let source = try JobSource.parse(words)
    if source == nil {
      for option in words.command.options where option.name != .queue && words.has(option.name) {
        throw words.misused(option.long, "needs a command to add")
      }
    }
    self.init(job: try JobOptions(parsing: words, queue: queue), source: source)
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    try StartedThread.require(Runner.threads)
    if job.hasTerminal == true { try RunTerminal.require(in: &session) }
    let submission = try source.map { (source) throws(Failure) in
      try Submission(source, job)
    }
    submission?.reportMissingFiles(to: session.output)
    // Makes a queue only for a job: the name may be mistyped.
    if submission == nil, try session.spool().existingQueue(named: job.queue) == nil {
      session.reportNoJobs(in: job.queue)
      return .success
    }
    let folder = try session.folder(for: job)
    var style = Follower.OutputStyle.plain
    style.isTalkative = session.messageTraits.isTerminal
    style.sharesTerminal = session.traits.isTerminal
    style.hasColor = session.messageTraits.hasColor
    style.isAboveDisplay = session.traits.isLive
    let watches = [
      try FileWatch(folders: [folder.logs]),
      try FileWatch(folders: [folder.path] + (job.hasTerminal == true ? [folder.locks] : [])),
    ]
    var follower = try Follower(folder, style)
    let mark = try session.willWait("run", follower.queue, folder)
    defer { withExtendedLifetime(mark) {} }
    let wakeUp = try WakeUpPipe()
    let messages = session.output
    let said = Locked<[String]>([])
    let isLive = session.traits.isLive
    let runner = try Runner(
      folder,
      say: { message in
        // Only the main thread writes while there is a live display, because it knows what is on
        // the screen.
        guard isLive else { return messages.message(message) }
        said.withLock { $0.append(message) }
        wakeUp.wake()
      }, wake: { wakeUp.wake() }, changed: { wakeUp.wake() })
    // After everything else that can fail: a command that fails to start must not leave jobs in the
    // queue.
    let ids = try submission?.append(to: folder, startsRunner: false, refusesPause: true).ids ?? []
    if case .command? = source { follower.chosen = ids.first }
    if submission != nil {
      let text = JobID.text(of: ids, separator: ", ")
      session.confirm(ids.count == 1 ? "queued job \(text)" : "queued jobs \(text)")
    }
    let terminal = job.hasTerminal == true ? RunTerminal(of: folder, for: ids) : nil
    if terminal != nil { follower.heldBack = Set(ids) }
    let mode = terminal == nil ? nil : TerminalMode(of: STDIN_FILENO)
    // Handled here, not between writes of output: if the reader has stopped reading, as a pager
    // does, the next write blocks forever.
    let restorer = follower.restorer
    let signals = try StopSignals { signal, count in
      if count == 1 {
        runner.stop(by: signal)
      } else if runner.hasWork {
        runner.kill()
      } else {
        restorer.restore {
          mode?.restore(on: STDIN_FILENO)
          SignalListener.obey(signal)
        }
      }
      wakeUp.wake()
    }
    // Stops the output of another runner's job, which keeps writing, and not of this runner's job.
    follower.isStopped = { signals.first != nil && !runner.isDone && !runner.hasWork }
    runner.start(heeding: signals)
    do throws(Failure) {
      // A shortage must not end the runner, which is in this process.
      try outlastingShortage(while: { signals.first == nil || runner.hasWork }) {
        () throws(Failure) in
        try follow(runner, &follower, terminal, watches, signals, wakeUp, said, in: &session)
      }
      if let failure = runner.failure { throw failure }
    } catch {
      var error = error
      if let signal = signals.first { error.code = .ended(by: signal) }
      guard submission != nil else { throw error }
      throw error.after(
        "The jobs are in the queue despite this error.",
        next: "See: \(advised("status", in: job.queue))")
    }
    if let signal = signals.first { return reportStop(by: signal, follower, ids, in: session) }
    return reportResult(follower, ids, in: &session)
  }

  /// Prints output until the runner is done, or was stopped and has no running job.
  private func follow(
    _ runner: Runner, _ follower: inout Follower, _ terminal: RunTerminal?,
    _ watches: [FileWatch], _ signals: StopSignals, _ wakeUp: WakeUpPipe,
    _ said: Locked<[String]>, in session: inout Session
  ) throws(Failure) {
    var terminal = terminal
    var watches = watches
    var display = session.display(of: follower.queue, wakeUp)
    defer {
      session.output.hide()
      follower.restorer.restore(&session.output)
    }
    var news = News()
    let isStopped = { signals.first != nil && !runner.hasWork }
    let isOver = { runner.isDone || isStopped() }
    let messages = {
      said.withLock { said in
        defer { said = [] }
        return said
      }
    }
    let drain = { (watches: [FileWatch]) in
      wakeUp.drain()
      for watch in watches { watch.drain() }
    }
    while true {
      // A job with a terminal needs the watch of the queue too.
      if terminal == nil, watches.count > 1, runner.reportsChanges { watches.removeLast() }
      drain(watches)
      // Read before the queue, so that everything that the runner did before it was done is
      // printed.
      let isLast = isOver()
      for message in messages() { session.output.message(message) }
      try follower.advance(&session.output)
      if isLast {
        // The queue can have been resumed since the runner found it paused.
        guard runner.isDone, runner.failure == nil, !isStopped(), follower.result == nil,
          !follower.isAtEnd, !follower.isBlocked
        else { return }
        // Until the runner reports its changes again.
        if watches.count == 1 { watches.append(try FileWatch(folders: [follower.folder.path])) }
        runner.start(heeding: signals)
        continue
      }
      if let (id, socket) = try terminal?.connect(follower.queue) {
        session.output.hide()
        display = nil
        let end = try terminal?.attach(
          to: id, by: socket, watching: watches.map(\.descriptor) + [wakeUp.descriptor],
          in: &session
        ) {
          drain(watches)
          // Not as soon as the runner is done: the keeper has sent the last output before that, but
          // the terminal has not shown it, and may show it late.
          return (messages(), isStopped() || runner.failure != nil ? .over : nil)
        } isCancelable: {
          runner.hasWork
        } wake: {
          wakeUp.wake()
        }
        if let end { try terminal?.note(end, of: id, &follower) }
        display = session.display(of: follower.queue, wakeUp)
        // What changed meanwhile was drained.
        continue
      }
      if display == nil { news.report(follower, in: session) }
      try display?.draw(&follower, isStopping: signals.first != nil, on: &session.output)
      _ = try waitForInput(
        on: watches.map(\.descriptor) + [wakeUp.descriptor],
        until: display?.deadline)
    }
  }

  private func reportStop(
    by signal: Int32, _ follower: Follower, _ ids: [JobID], in session: Session
  ) -> ExitCode {
    let queue = follower.queue
    let left = queue.count(.waiting)
    // The job of another runner, or of a dead one: the job of this runner has ended.
    let running = queue.running.first.map { "job \($0) continues; " } ?? ""
    let advice =
      running.isEmpty
      ? "continue with: \(advised("run", in: job.queue))"
      : "follow: \(advised("log", in: job.queue)) -f"
    let rest = running + (left == 0 ? "nothing waits" : "\(left) still waiting; \(advice)")
    session.output.message("serialq: stopped by \(SignalName.of(signal)); \(rest)")
    reportWaiting(ids, follower, in: session)
    return .ended(by: signal)
  }

  /// Reports which of the own jobs have not run.
  private func reportWaiting(_ ids: [JobID], _ follower: Follower, in session: Session) {
    let own = ids.filter { follower.queue.job($0)?.state == .waiting }
    guard !own.isEmpty else { return }
    let text = JobID.text(of: own, separator: " ")
    let wait = own.count == 1 ? "Job \(text) still waits" : "Jobs \(text) still wait"
    session.output.message("\(wait); to cancel: \(advised("cancel", in: job.queue)) \(text)")
  }

  private func reportResult(
    _ follower: Follower, _ ids: [JobID], in session: inout Session
  ) -> ExitCode {
    let isLeft = follower.queue.isPaused && follower.queue.count(.waiting) > 0
    let succeeded = follower.counts[.succeeded] ?? 0
    let total = follower.counts.values.reduce(0, +)
    let isUnsuccessful = total > succeeded
    if session.messageTraits.isTerminal || isUnsuccessful {
      session.output.message(
        total == 0 ? "serialq: no job waits" : "serialq: \(succeeded) of \(total) succeeded")
    }
    if let id = follower.firstFailed { session.suggestLog(id, in: follower.folder.name) }
    if isLeft {
      session.output.message("\(follower.queue.blocked(named: follower.folder.name))")
      reportWaiting(ids, follower, in: session)
    }
    if let result = follower.result { return result.code }
    return isUnsuccessful ? .jobFailed : isLeft ? .cannot : .success
  }
}

extension Session {
  /// The live display, if the terminal can show one.
  fileprivate mutating func display(of queue: Queue, _ wakeUp: WakeUpPipe) -> RunDisplay? {
    traits.isLive ? try? RunDisplay(queue, traits) { wakeUp.wake() } : nil
  }
}

/// What needs the user, where no live display shows it.
private struct News {
  private var suspended: JobID?
  private var question: Question?

  /// Prints what is new since the last call.
  mutating func report(_ follower: Follower, in session: Session) {
    let queue = follower.folder.name
    let new = follower.queue.suspended.first?.id
    if let new, new != suspended {
      session.output.message(
        "serialq: job \(new) is suspended; continue it: \(advised("resume", in: queue))")
    }
    suspended = new
    let job = follower.queue.running.first.flatMap(follower.queue.job)
    if let job, let asked = job.question, asked != question {
      session.output.message(
        """
        serialq: job \(job.id) \(asked.phrase)
        Answer it: \(advised("attach", in: queue)) \(job.id)
        """)
    }
    question = job?.question
  }
}
