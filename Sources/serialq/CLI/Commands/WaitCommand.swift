import SerialqQueue
import SerialqRunner
import SerialqSystem

/// `serialq wait`: waits until jobs, or the whole queue, are done.
struct WaitCommand: Equatable {
  var queue: String
  /// Empty for the whole queue.
  var ids: [ClosedRange<JobID>]
  /// In seconds.
  var timeout: Int?
}

extension WaitCommand: Subcommand {
  static let name = "wait"

  static let spec = CommandSpec(
    name: name,
    summary: "wait until jobs, or the whole queue, are finished",
    synopsis: ["wait [options] [ID...]"],
    description: [
      """
      With one id, exits like that job: with its exit code, with 128+n if signal n killed it, or \
      with 124 if it timed out. A job that was interrupted, skipped, or cancelled before it ran \
      has no code: then wait exits with 1, as it does if a cancelled job exited with 0. With \
      several ids, exits with 1 if one of the jobs did not succeed, else with 0.
      """,
      """
      Without ids, waits for the whole queue, and exits with 1 if a failure is open or a job still \
      waits, else with 0.
      """,
      """
      Starts a runner if none is active. In a paused queue, waiting jobs do not run: wait fails at \
      once, or at the end of the running job if the queue is paused later.
      """,
    ],
    options: [
      .queue,
      OptionSpec(
        .timeout, value: OptionValue(.duration, "TIME"),
        help: "Gives up after TIME and exits with 124."
      ),
    ],
    operands: .jobIDs,
    examples: [
      Example("serialq wait && echo done", "the whole queue"),
      Example("serialq wait 12", "job 12, and its exit code"),
      Example("serialq wait --timeout 1h 3-7 9", "several jobs, at most an hour"),
    ]
  )

  static func takes(_ job: Job) -> Bool { !job.state.isOver }

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(queue: queue, ids: try words.ids(), timeout: words.seconds(.timeout))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    guard let folder = try session.spool().existingQueue(named: Bytes(queue.utf8)) else {
      guard let id = ids.first else { return .success }
      throw Queue().missing(id, in: queue)
    }
    var waiting = try Waiting(folder, ids: ids, startingIfNeeded: .own)
    if !waiting.isDone {
      try session.refuseOwnQueue("wait", waiting.queue, named: waiting.queueName)
    }
    let deadline = timeout.map { Clock.monotonic() + Int64($0) * 1_000_000_000 }
    while true {
      session.report(try waiting.look(), in: folder)
      if waiting.isDone { break }
      guard try waiting.sleep(until: deadline) else {
        throw Failure(
          "wait", "gave up after \(Humanize.duration(.seconds(timeout ?? 0)))",
          next: """
            The jobs continue. See the progress: serialq \
            status\(QueueName.option(for: queue))
            """, code: .timedOut)
      }
    }
    try waiting.flush()
    return reportResult(waiting, in: session)
  }

  /// Reports jobs that did not succeed, and returns the exit code.
  private func reportResult(_ waiting: Waiting, in session: Session) -> ExitCode {
    let failed = waiting.unsuccessful
    for job in failed.suffix(5) {
      session.output.message("serialq: job \(job.id) \(job.outcomeText): \(job.title)")
    }
    if failed.count > 5 {
      session.output.message("serialq: and \(failed.count - 5) more before them")
    }
    if let job = failed.last(where: \.state.isFailure) {
      session.suggestLog(job.id, in: waiting.queueName)
    }
    if let id = waiting.onlyID { return failed.first { $0.id == id }?.code ?? .success }
    return failed.isEmpty ? .success : .jobFailed
  }
}

extension Job {
  /// The exit code for the outcome of the job.
  fileprivate var code: ExitCode {
    switch (state, run?.how?.shellCode) {
    case (.succeeded, _): .success
    case (.timedOut, _): .timedOut
    case (_, let code?) where code != .success: code
    // Interrupted, cancelled, skipped, or terminated with exit code 0: no code of its own.
    default: .jobFailed
    }
  }
}
