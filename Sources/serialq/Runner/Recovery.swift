import SerialqQueue
import SerialqSystem

extension RunnerSteps {
  /// Recovers jobs that an earlier runner started and whose end it did not record.
  ///
  /// Waits for a job whose processes are alive, so that two jobs never run at once. The exit status
  /// of such a job is lost: it is marked as interrupted, and retried only if it has automatic
  /// retries. Followers report it like any other end.
  func recover() throws(Failure) {
    for job in try current().running.compactMap({ queue.job($0) }) {
      try waitForRunner(of: job)
      guard try isOrphan(job) else { continue }
      let termination = try waitForOrphan(job)
      // Now its process is known, if its runner recorded it meanwhile.
      try waitForRunner(of: job)
      guard try isOrphan(job) else { continue }
      // It still copies the last output.
      try KeeperProcess.finishOrphan(job.id, self)
      let (known, launch) = self.end(of: job, process: nil)
      let outcome = end(of: try current().job(job.id) ?? job, termination, known).0
      limitLog(of: job, ending: outcome.state)
      try record(of: job, launch, flush: true) { end(of: $0, termination, known) }
    }
    removeLockFiles()
  }

  /// Waits while the runner that started the job is alive, which records its end: the file of its
  /// lock was removed.
  private func waitForRunner(of job: Job) throws(Failure) {
    guard let runner = JobLock.runner(of: try current().job(job.id) ?? job, folder),
      let descriptor = runner.descriptor
    else { return }
    say("serialq: job \(job.id) belongs to a runner whose lock file was removed; waiting for it")
    try supervision.whileBlocked { () throws(Failure) in
      while try isOrphan(job) {
        if try supervision.waitForChange(until: nil, orFor: descriptor)[0] { break }
        supervision.drain()
      }
    }
    withExtendedLifetime(runner) {}
  }

  /// Whether this runner has to record the end of the attempt.
  private func isOrphan(_ job: Job) throws(Failure) -> Bool {
    guard !supervision.isStopped || JobLock.runner(of: job, folder) == nil else { return false }
    return try current().running(job) != nil
  }

  /// Removes the lock files that killed runners left; ignores errors, because they are harmless.
  ///
  /// Only while no job runs, and with the lock: if a process still held it, it would seem to be
  /// gone, and the next attempt could run beside it. A process that opened the file before can only
  /// probe it: new holders come from this runner alone.
  private func removeLockFiles() {
    let names = (try? FileSystem.names(in: folder.locks)) ?? []
    // A killed follower left them.
    folder.removeKeptLogs(among: names)
    for id in names.compactMap({ JobID($0.text) }) {
      guard let lock = try? JobLock.existing(id, folder), (try? lock.tryLock()) == true else {
        continue
      }
      JobLock.removeFile(of: id, folder)
    }
  }

  /// The end of an attempt whose process ended like this, nil if that was not observed, and what
  /// its launcher reported, if it has one.
  func end(of job: Job, process: Ending?) -> (ending: Ending?, launch: Launch?) {
    guard let launch = job.execution?.launch else { return (process, nil) }
    let report = try? patiently { () throws(Failure) in try folder.launcherReport(job.id) }
    return launch.end(report ?? [], launcher: process)
  }

  /// The end of a job that no runner observed; `known` is what its launcher reported.
  private func end(of job: Job, _ termination: Termination, _ known: Ending?) -> (
    JobStatus.Outcome, at: Timestamp
  ) {
    let now = Clock.now()
    if let known {
      let cause = job.isCancelRequested ? .cancelled : termination.cause
      // The launcher may have ended long ago.
      let file = try? FileSystem.status(of: folder.launcherResult(job.id))
      let at = min(now, file?.modified ?? now)
      let duration = job.started.map(at.nanoseconds(since:)) ?? 0
      return (.ended(known, cause, duration: duration), at)
    }
    guard !job.isCancelRequested else { return (.cancelled, now) }
    guard termination.cause == .timedOut, let duration = job.running(Clock.reading()) else {
      return (.interrupted(isStopped: termination.isStopped), now)
    }
    return (.ended(.killed(termination.signal ?? 0), .timedOut, duration: duration), now)
  }

  /// Waits until the process group of the job is gone.
  ///
  /// Processes that left the group do not block the queue, as after a normal end. On request
  /// terminates all processes that hold the job's lock, and waits for them.
  private func waitForOrphan(_ job: Job) throws(Failure) -> Termination {
    let (folder, supervision) = (folder, supervision)
    var termination = Termination(
      timeLimit: timeLimit(of: job), isLauncher: job.execution?.launch != nil)
    let file = try JobLock.existing(job.id, folder)
    guard let lock = if let file { file } else { try JobLock.removed(job, folder) },
      try !lock.tryLock()
    else { return termination }
    // For `limitLog`, which checks whether another process holds it.
    defer { lock.unlock() }
    // The lock may only have been probed.
    if try !lock.tryLockShared() { reportOrphan(job) }
    RunnerLock.sign(self.lock, orphan: job.id)
    defer { RunnerLock.sign(self.lock) }
    let free = try? Notice(ofRelease: lock)
    // The end of the group leaves no event if a process that left the group holds the lock.
    _ = try? Notice {
      JobLock.waitUntilGone(job, folder)
      supervision.wake()
    }
    var delivery = SignalDelivery(to: job, in: folder) {
      (try? JobLock.groups(of: job, folder))?.first
    }
    try supervision.whileBlocked { () throws(Failure) in
      try wait(for: .orphan, of: job, free, lock, &termination, &delivery)
    }
    return termination
  }

  /// Records, once, which processes of a job cannot be ended or suspended, in the journal and in
  /// its log.
  func report(
    _ left: [SignalRounds.Unreachable], of job: Job, isEnding: Bool
  ) throws(Failure) {
    let shown = left.prefix(3).map(\.text) + (left.count > 3 ? ["\(left.count - 3) more"] : [])
    let text = shown.joined(separator: "; ")
    let processes = Bytes(text.utf8)
    guard try current().job(job.id)?.execution?.left != processes else { return }
    let verb = isEnding ? "end" : "suspend"
    do throws(Failure) {
      let isNews = try decide { (scope) throws(Failure) in
        // The job may have been continued since the search.
        guard let current = queue.running(job), isEnding || current.suspendedSince != nil,
          let status = current.status.left(processes)
        else { return false }
        try scope.append([.status(job.id, status)])
        return true
      }
      guard isNews else { return }
    } catch {
      // The disk may be full; the job must not be left without supervision. The next search tries
      // again.
      return
    }
    say("serialq: job \(job.id): cannot \(verb) \(text)")
    let log = try? FileDescriptor.open(folder.log(job.id), .log)
    try? log?.writeAll(Bytes("serialq: cannot \(verb) \(text)\n".utf8))
  }

  private func reportOrphan(_ job: Job) {
    let group = (try? JobLock.groups(of: job, folder))?.first
    let process = group.map { " (process group \($0))" } ?? ""
    say(
      """
      serialq: job \(job.id)\(process) is still running after its runner died; waiting for it \
      to end
      To end it: \(advised("cancel", in: folder.name)) \(job.id)
      """)
  }

  /// The monotonic deadline, without suspensions, of a job that another process started.
  private func timeLimit(of job: Job) -> Int64? {
    let now = Clock.reading()
    guard job.limits.timeout > 0, let passed = job.sinceStart(now) else { return nil }
    return now.monotonic + Int64(job.limits.timeout) * 1_000_000_000 - passed
  }
}

extension Queue {
  /// The present state of an attempt that runs, or `job` if the line of its start was damaged
  /// since; nil if its end is recorded.
  ///
  /// Another runner recorded it, which was started after the lock file of this one was removed.
  func running(_ job: Job) -> Job? {
    guard let current = self.job(job.id), current.attempts >= job.attempts else { return job }
    return current.state == .running && current.attempts == job.attempts ? current : nil
  }
}
