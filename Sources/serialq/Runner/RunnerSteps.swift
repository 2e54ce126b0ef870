import SerialqQueue
import SerialqSystem

/// What the steps of a ``Runner`` pass on, and their work; used by one step at a time.
final class RunnerSteps {
  let folder: QueueFolder
  let kind: Runner.Kind
  let journal: Journal
  let supervision: Supervision
  /// Prints messages about findings and waits.
  let say: @Sendable (String) -> Void

  /// Has read the last known state of the queue.
  var reader: JournalReader
  var environments: Environments
  /// What was chosen when the last job ended; nil if nothing was.
  var choice: Choice?
  /// The ended job whose lock file another one can use.
  var spareLock: JobID?
  /// The files of the job that is to be spawned next, or that probably is.
  var prepared: PreparedJob?
  /// The job that could not be started, and when to try again.
  var postponed: PostponedJob?
  /// Whether this runner may have kept logs for followers.
  var keepsLogs = false
  /// Found by a compaction; reported after the lock of the journal is released.
  var damaged: [DamagedLine] = []

  /// The queue's runner lock, and the file that it locks.
  private(set) var lock: FileDescriptor
  private var lockIdentity: FileStatus.Identity
  private let hasLock: Bool

  /// `lock` is the runner lock if the parent process has already acquired it.
  init(
    _ folder: QueueFolder, _ kind: Runner.Kind, lock: FileDescriptor?, _ supervision: Supervision,
    say: @escaping @Sendable (String) -> Void
  ) throws(Failure) {
    (self.folder, self.kind, self.supervision, self.say) = (folder, kind, supervision, say)
    journal = Journal(folder)
    reader = JournalReader(folder)
    environments = Environments(folder)
    hasLock = lock != nil
    self.lock = if let lock { lock } else { try RunnerLock.open(folder) }
    lockIdentity = try self.lock.status().identity
  }

  var queue: Queue { reader.queue }

  /// Releases the runner lock.
  ///
  /// Requires the journal's lock, except after a failure: otherwise a command could add a job while
  /// it still sees an active runner.
  func release() {
    // Before another runner can use the files for a retry of the same job, or for the next one.
    removeSpareLock()
    removePrepared()
    RunnerLock.clear(lock)
    lock.unlock()
  }

  /// Whether the file of the runner lock has lost its name, so that another runner can lock a new
  /// one.
  func isLockLost() throws(Failure) -> Bool {
    try FileSystem.status(of: folder.runnerLock)?.identity != lockIdentity
  }

  /// Acquires the runner lock, also again after its file was removed; returns false if another
  /// runner is active and this one must not wait.
  func takeOver() throws(Failure) -> Bool {
    let isInherited = try hasLock ? !isLockLost() : false
    var isLocked = isInherited
    while !isLocked {
      if try isLockLost() {
        let new = try RunnerLock.open(folder)
        (lock, lockIdentity) = (new, try new.status().identity)
      }
      if try !lock.tryLock() {
        // The lock may only have been probed.
        if try RunnerLock.isHeld(folder) {
          // The other runner checks for jobs once more before it releases the lock.
          if kind == .background { return false }
          say("serialq: another runner is active on queue \(folder.name); following it")
        }
        try supervision.whileBlocked(lock.lock)
      }
      // The file may have been removed before it was locked.
      isLocked = try !isLockLost()
    }
    if isInherited {
      // Behind the signature of the parent, without a moment in which the holder is unknown.
      RunnerLock.sign(lock, for: Machine.processID())
    } else {
      RunnerLock.sign(lock)
    }
    // Again from the start: what was recovered before a shortage is recorded.
    try patiently { () throws(Failure) in try recover() }
    return true
  }
}

/// The lock and the log of a job that has not started.
///
/// Closed after the spawn: otherwise the runner would count as one of the job's processes.
struct PreparedJob {
  let id: JobID
  let lock: FileDescriptor
  let log: FileDescriptor
}

/// A job that could not be started for want of processes, memory or descriptors.
struct PostponedJob {
  let id: JobID
  /// By the monotonic clock.
  let due: Int64
  /// In seconds.
  private let delay: Int64

  /// After twice the delay of the last time, up to a minute.
  init(_ id: JobID, after last: PostponedJob?) {
    self.id = id
    delay = if let last, last.id == id { min(60, last.delay * 2) } else { 1 }
    due = Clock.monotonic() + delay * 1_000_000_000
  }
}

extension RunnerSteps {
  /// Does `work`, and again at growing intervals of up to a second while it fails for want of
  /// something that comes back, unless the runner is to end at once or `isBegun`: what has had an
  /// effect cannot be done again.
  ///
  /// Otherwise the runner would end, and a job that runs would be interrupted.
  func patiently<Result>(
    unless isBegun: () -> Bool = { false }, _ work: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var tries = 0
    while true {
      do throws(Failure) { return try work() } catch {
        guard error.isShortage, supervision.level != .atOnce, !isBegun() else { throw error }
        tries += 1
        if tries == 5 { say("serialq: \(error.sentence); trying again") }
        supervision.drain()
        let delay: Int64 = min(1 << min(tries, 7), 100) * 10_000_000
        try supervision.waitForChange(until: Clock.monotonic() + delay)
        // For the caller, who has not seen what was drained.
        supervision.wake()
      }
    }
  }

  /// Makes a decision about the current state of the queue under the journal's lock.
  func decide<Result>(
    _ work: (inout JournalScope) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var isBegun = false
    return try patiently(unless: { isBegun }) { () throws(Failure) in
      try journal.locked { (scope) throws(Failure) in
        try scope.read(&reader)
        isBegun = true
        return try work(&scope)
      }
    }
  }

  /// Reads the journal, and returns the present state of the queue.
  func current() throws(Failure) -> Queue {
    _ = try patiently { () throws(Failure) in try reader.read() }
    return queue
  }

  /// What was requested for a running job, among its other properties.
  ///
  /// `isEnding` is whether the job is being ended, and so is not suspended.
  func requests(for id: JobID, isEnding: Bool) throws(Failure) -> JobStatus.Running {
    let running = try current().job(id)?.running ?? .unknown
    guard running.suspension.since != nil, isEnding else { return running }
    // It is continued to receive the signal, and the queue must not say otherwise. Ignores errors:
    // the disk may be full, and the job must be ended nevertheless.
    try? decide { (scope) throws(Failure) in
      let status = queue.job(id)?.status.continued(at: Clock.reading())
      if let status { try scope.append([.status(id, status)]) }
    }
    return try current().job(id)?.running ?? .unknown
  }

  /// Records the end of a job and its consequences.
  ///
  /// `launch` is what its launcher reported, and `unlogged` why output may be missing in its log.
  /// Calls `end` with the job, under the journal's lock: otherwise a request that arrives in
  /// between would be lost, and the job could be retried. Then calls `next`, under the same lock.
  func record(
    of job: Job, _ launch: Launch? = nil, unlogged: Bytes? = nil, flush: Bool,
    as end: (_ current: Job) -> (JobStatus.Outcome, at: Timestamp),
    next: (inout JournalScope) throws(Failure) -> Void = { _ in }
  ) throws(Failure) {
    try decide { (scope) throws(Failure) in
      guard let current = queue.running(job) else { return try next(&scope) }
      let (outcome, at) = end(current)
      let status = unlogged.flatMap { current.status.unlogged($0) } ?? current.status
      let over = status.ended(outcome, at: at, launch: launch)
      let entries = over.map { queue.end(of: current, $0, at: Clock.reading()) } ?? []
      let forgotten = entries.flatMap(\.forgottenIDs)
      // After the line is durable: a log must not be lost while its job can reappear.
      let lines = try scope.append(entries, flush: flush || !forgotten.isEmpty)
      // Of the queue that still has the forgotten jobs.
      if folder.removeFiles(of: forgotten, in: queue) { keepsLogs = true }
      removeKeptLogs()
      try reader.take(lines)
      // Otherwise `status` could not find out whether a process that could not be ended still runs.
      if current.execution?.left == nil {
        removeSpareLock()
        spareLock = JobLock.remove(current, folder)
      }
      try next(&scope)
    }
  }

  /// Removes the logs that this runner kept for followers, once no follower is left.
  ///
  /// A follower removes them itself, unless it is killed.
  private func removeKeptLogs() {
    guard keepsLogs, !UnreadLogs(in: folder).contain(1...Int.max) else { return }
    keepsLogs = false
    folder.removeKeptLogs(among: (try? FileSystem.names(in: folder.locks)) ?? [])
  }

  /// Removes the lock file of the last job, if no other follows at once.
  func removeSpareLock() {
    if let id = spareLock.take() { JobLock.removeFile(of: id, folder) }
  }

  /// Acquires the lock and makes the log of a job that has not run, while another one runs.
  ///
  /// This would be much of the time between two short jobs. Ignores errors, and a wrong prediction:
  /// the files have no effect.
  func prepare(_ job: Job) {
    guard prepared == nil else { return }
    do throws(Failure) {
      let lock = try JobLock.take(job.id, spare: spareLock.take(), folder)
      let log = try FileDescriptor.open(folder.log(job.id), .emptyLog)
      prepared = PreparedJob(id: job.id, lock: lock, log: log)
    } catch {}
  }

  func removePrepared() {
    // An empty log stays, for the job.
    if let prepared = prepared.take() { JobLock.removeFile(of: prepared.id, folder) }
  }
}
