import SerialqQueue
import SerialqRunner
import SerialqSystem

extension Session {
  /// `serialq wait`: waits until jobs, or the whole queue, are done.
  mutating func wait(_ call: Invocation.Wait) throws(Failure) -> ExitCode {
    guard let folder = try spool().existingQueue(named: Bytes(call.queue.utf8)) else {
      guard let id = call.ids.first else { return .success }
      throw Queue().missing(id, in: call.queue)
    }
    var waiting = try Waiting(folder, ids: call.ids, startingIfNeeded: .own)
    if !waiting.isDone { try refuseOwnQueue("wait", waiting.queue, named: waiting.queueName) }
    let deadline = call.timeout.map { Clock.monotonic() + Int64($0) * 1_000_000_000 }
    while true {
      report(try waiting.look(), in: folder)
      if waiting.isDone { break }
      guard try waiting.sleep(until: deadline) else {
        throw Failure(
          "wait", "gave up after \(Humanize.duration(.seconds(call.timeout ?? 0)))",
          next: """
            What was waited for goes on. See how far it is: serialq \
            status\(QueueName.option(for: call.queue))
            """, code: .timedOut)
      }
    }
    try waiting.flush()
    return tell(waiting)
  }

  /// Reports jobs that did not succeed, and returns the exit code.
  private func tell(_ waiting: Waiting) -> ExitCode {
    let failed = waiting.unsuccessful
    for job in failed.suffix(5) {
      output.message("serialq: job \(job.id) \(job.outcomeText): \(job.title)")
    }
    if failed.count > 5 { output.message("serialq: and \(failed.count - 5) more before these") }
    if let job = failed.last(where: \.state.isFailure) { tellWhy(job.id, in: waiting.queueName) }
    if let id = waiting.onlyID { return failed.first { $0.id == id }?.code ?? .success }
    return failed.isEmpty ? .success : .jobFailed
  }
}

extension Job {
  /// The exit code for the outcome of the job.
  fileprivate var code: ExitCode {
    switch (state, run?.how) {
    case (.succeeded, _): .success
    case (.timedOut, _): .timedOut
    case (_, .cannotRun(let code, _)): ExitCode(rawValue: code)
    case (_, .exited(let code)) where code != 0: ExitCode(rawValue: code)
    case (_, .killed(let signal)): ExitCode(rawValue: 128 + signal)
    // Interrupted, cancelled, skipped, or terminated with exit code 0: no code of its own.
    default: .jobFailed
    }
  }
}
