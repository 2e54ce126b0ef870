import SerialqQueue
import SerialqSystem

extension Runner {
  /// Finds out about the jobs that a runner before this one started and did not see the end of.
  ///
  /// A job whose processes live on is waited for, so that no two ever run at once. How such a job
  /// ended nobody knows: it is marked as interrupted, and run again only if it asked for that.
  /// Whoever follows the queue tells of it, as of every end.
  func recover() throws(Failure) {
    let lost = try view.withLock { (view) throws(Failure) in
      try view.update()
      return view.queue.running.compactMap { view.queue.job($0) }
    }
    for job in lost {
      let termination = try waitForOrphan(job)
      try record(of: job, flush: true) { isAsked in end(of: job, termination, isAsked: isAsked) }
    }
  }

  /// What is known of the end of a job whose end nobody saw.
  private func end(
    of job: Job, _ termination: Termination, isAsked: Bool
  ) -> (Event, JobState) {
    let now = Clock.now()
    guard !isAsked else { return (.cancelled(id: job.id, at: now), .cancelled) }
    guard termination.cause == .timedOut, let duration = job.sinceStart(Clock.reading()) else {
      return (.interrupted(id: job.id, at: now), .interrupted)
    }
    let how = Ending.killed(termination.signal ?? 0)
    return (
      .ended(id: job.id, at: now, duration: duration, how: how, cause: .timedOut), .timedOut
    )
  }

  /// Returns when no process of the job's group lives any more; ends them when that is asked for.
  ///
  /// Those that have left the group hold up the queue no more than after a job whose end was seen.
  private func waitForOrphan(_ job: Job) throws(Failure) -> Termination {
    var termination = Termination(timeLimit: timeLimit(of: job))
    guard let lock = try JobLock.existing(job.id, folder), try !tried(lock) else {
      return termination
    }
    // Not held, it is only being looked at.
    if try JobLock.isHeld(job.id, folder) { tell(of: job) }
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

  private func tell(of job: Job) {
    let group = JobLock.groups(of: job, folder).first
    let process = group.map { " (process group \($0))" } ?? ""
    let option = QueueName.option(for: folder.name.text)
    say(
      """
      serialq: job \(job.id)\(process) of a runner that died is still running; waiting for its \
      end
      To end it: serialq cancel\(option) \(job.id)\(group.map { ", or kill -- -\($0)" } ?? "")
      """)
  }

  /// In the monotonic clock, from a start that another process saw.
  private func timeLimit(of job: Job) -> Int64? {
    let now = Clock.reading()
    guard job.limits.timeout > 0, let passed = job.sinceStart(now) else { return nil }
    return now.monotonic + Int64(job.limits.timeout) * 1_000_000_000 - passed
  }
}
