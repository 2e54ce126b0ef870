import SerialqQueue
import SerialqSystem

extension Runner {
  /// Recovers jobs that an earlier runner started and whose end it did not record.
  ///
  /// Waits for a job whose processes are alive, so that two jobs never run at once. The exit status
  /// of such a job is lost: it is marked as interrupted, and retried only if it has automatic
  /// retries. Followers report it like any other end.
  func recover() throws(Failure) {
    for job in try current({ queue in queue.running.compactMap(queue.job) }) {
      let termination = try waitForOrphan(job)
      try record(of: job, flush: true) { isCancelRequested in
        end(of: job, termination, isCancelRequested: isCancelRequested)
      }
    }
  }

  /// The end of a job that no runner observed.
  private func end(
    of job: Job, _ termination: Termination, isCancelRequested: Bool
  ) -> (Event, JobState) {
    let now = Clock.now()
    guard !isCancelRequested else { return (.cancelled(id: job.id, at: now), .cancelled) }
    guard termination.cause == .timedOut, let duration = job.sinceStart(Clock.reading()) else {
      return (.interrupted(id: job.id, at: now), .interrupted)
    }
    let how = Ending.killed(termination.signal ?? 0)
    return (
      .ended(id: job.id, at: now, duration: duration, how: how, cause: .timedOut), .timedOut
    )
  }

  /// Waits until the process group of the job is gone, and terminates it on request.
  ///
  /// Processes that left the group do not block the queue, as after a normal end.
  private func waitForOrphan(_ job: Job) throws(Failure) -> Termination {
    var termination = Termination(timeLimit: timeLimit(of: job))
    guard let lock = try JobLock.existing(job.id, folder), try !lock.tryLock() else {
      return termination
    }
    // The lock may only have been probed.
    if try JobLock.isHeld(job.id, folder) { reportOrphan(job) }
    RunnerLock.sign(self.lock, orphan: job.id)
    defer { RunnerLock.sign(self.lock) }
    let free = try supervision.end { try? lock.lock() }
    try whileWaiting { () throws(Failure) in
      try supervision.wait(
        for: free, &termination, heedsStop: kind == .background, canGiveUp: true,
        isGone: { JobLock.isGone(job, folder) },
        requests: { () throws(Failure) in try requests(of: job.id) },
        send: { signal in JobLock.signal(job, folder, signal) })
    }
    return termination
  }

  private func reportOrphan(_ job: Job) {
    let group = JobLock.groups(of: job, folder).first
    let process = group.map { " (process group \($0))" } ?? ""
    let option = QueueName.option(for: folder.name.text)
    say(
      """
      serialq: job \(job.id)\(process) is still running after its runner died; waiting for it \
      to end
      To end it: serialq cancel\(option) \(job.id)\(group.map { ", or kill -- -\($0)" } ?? "")
      """)
  }

  /// The monotonic deadline of a job that another process started.
  private func timeLimit(of job: Job) -> Int64? {
    let now = Clock.reading()
    guard job.limits.timeout > 0, let passed = job.sinceStart(now) else { return nil }
    return now.monotonic + Int64(job.limits.timeout) * 1_000_000_000 - passed
  }
}
