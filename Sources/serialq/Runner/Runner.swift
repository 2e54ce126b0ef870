import Dispatch
import SerialPromises
import SerialqQueue
import SerialqSystem

/// Runs the waiting jobs of a queue in order until it is empty.
///
/// Its steps run in a `PromiseManager`: *take over* acquires the runner lock and recovers orphaned
/// jobs; *next job* runs one job, and repeats while any are waiting.
package final class Runner: Sendable {
  let folder: QueueFolder

  /// How the runner was started.
  package enum Kind {
    /// By a user in a terminal; Ctrl-C cancels the running job.
    case foreground
    /// By serialq; stopping the runner, as at a shutdown, interrupts the running job.
    case background
  }
  let kind: Kind

  /// The last known state of the queue; used by one step at a time.
  let view: Locked<QueueView>

  /// Supervises the process of the running job.
  let supervision: Supervision

  /// Used by one step at a time.
  let environments: Locked<Environments>

  /// Prints messages about findings and waits.
  let say: @Sendable (String) -> Void

  /// The ended job whose lock file another one can use; used by one step at a time.
  private let spareLock = Locked<JobID?>(nil)

  /// The files of the job that is to be spawned next, or that probably is; used by one step at a time.
  let prepared = Locked<PreparedJob?>(nil)

  /// The job that could not be started, and when to try again; used by one step at a time.
  let postponed = Locked<PostponedJob?>(nil)

  /// Whether this runner may have kept logs for followers; used by one step at a time.
  let keepsLogs = Locked(false)

  /// The queue's runner lock, and the file that it locks; used by one step at a time.
  private let ownLock: Locked<OwnLock>
  var lock: FileDescriptor { ownLock.withLock { $0.file } }
  private struct OwnLock {
    let file: FileDescriptor
    let identity: FileStatus.Identity

    init(_ file: FileDescriptor) throws(Failure) {
      self.file = file
      identity = try file.status().identity
    }
  }
  private let hasLock: Bool
  private let manager = PromiseManager(
    on: DispatchQueue(label: "serialq.runner"), onFailure: .stop, diagnostics: .standardError)
  private let wake: @Sendable () -> Void
  private let state = Locked(State())

  private struct State {
    var isWaitingForLock = false
    var reportsChanges = false
    var isDone = false
    /// Not retained: their owner, whom they call, retains this runner.
    weak var signals: StopSignals?
    var interruptsJob = true
    var failure: Failure?
  }

  /// The number of threads that a runner can need at the same time.
  package static let threads = 8

  /// Creates a runner; calls `wake` when ``isDone`` becomes true, or ``hasWork`` false after a
  /// stop, and `changed` when the queue has changed, while ``reportsChanges``.
  ///
  /// `lock` is the runner lock if the parent process has already acquired it.
  package init(
    _ folder: QueueFolder, _ kind: Kind = .foreground, lock: FileDescriptor? = nil,
    say: @escaping @Sendable (String) -> Void, wake: @escaping @Sendable () -> Void,
    changed: @escaping @Sendable () -> Void = {}
  ) throws(Failure) {
    self.folder = folder
    self.kind = kind
    self.say = say
    self.wake = wake
    hasLock = lock != nil
    let lock = if let lock { lock } else { try RunnerLock.open(folder) }
    ownLock = Locked(try OwnLock(lock))
    view = Locked(QueueView(folder))
    environments = Locked(Environments(folder))
    supervision = try Supervision(folder, willWait: changed)
  }

  /// Starts the runner, also again; it is done when no job can run, or a step has failed.
  ///
  /// `signals` are those that call ``stop(by:)``.
  package func start(heeding signals: StopSignals) {
    state.withLock { state in
      (state.isDone, state.reportsChanges) = (false, false)
      state.signals = signals
    }
    add("take over") { [self] () throws(Failure) in
      guard try takeOver() else { return finish(nil) }
      state.withLock { $0.reportsChanges = true }
      wake()
      addNext()
    }
  }

  /// Terminates the running job and starts no other; waiting jobs stay in the queue.
  ///
  /// Only SIGINT to a foreground run, which is Ctrl-C, cancels the job. Otherwise the user stopped
  /// the runner, or lost the terminal, and the job is interrupted.
  package func stop(by signal: Int32) {
    if kind == .foreground, signal == SIGINT { state.withLock { $0.interruptsJob = false } }
    supervision.requestStop(.inOrder)
  }

  package func kill() { supervision.requestStop(.atOnce) }

  /// Returns when every signal to stop that was sent before has been heard.
  func hearSignals() { state.withLock { $0.signals }?.catchUp() }

  /// Whether a job that ends because of a stop is interrupted, not cancelled.
  var interruptsJob: Bool { state.withLock { $0.interruptsJob } }

  /// Whether a stop must wait for a job; false while blocked on a lock of another process.
  package var hasWork: Bool { state.withLock { !$0.isWaitingForLock && !$0.isDone } }

  /// Why the runner ended early; nil if it did not.
  package var failure: Failure? { state.withLock { $0.failure } }

  package var isDone: Bool { state.withLock { $0.isDone } }

  /// Whether the runner calls `changed` after each change of the queue, by any process.
  ///
  /// It does so only before it waits: a thread that watches the folder itself would interrupt it
  /// between two jobs, on the same processor.
  package var reportsChanges: Bool { state.withLock { $0.reportsChanges } }

  // MARK: Steps

  /// Adds a step that does this work, and ends the runner if it fails.
  func add(_ name: String, _ work: @escaping @Sendable () throws(Failure) -> Void) {
    manager.add(
      Step(name) { then in
        do throws(Failure) {
          try work()
          then()
        } catch {
          self.finish(error)
          then(error)
        }
      })
  }

  /// Ends the runner, because no job is waiting or because of this failure.
  func finish(_ failure: Failure?) {
    // Releases the lock before the process ends: a blocked reader of its output can delay that, and
    // jobs added in the meantime would rely on this runner. A background runner exits by itself,
    // and must first log the failure for the command that finds no runner.
    if failure != nil, kind == .foreground { release() }
    let isFirst = state.withLock { state in
      defer {
        state.isDone = true
        state.failure = state.failure ?? failure
      }
      return !state.isDone
    }
    if isFirst { wake() }
  }

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

  /// Whether the file of the runner lock has lost its name, so that another runner can lock a new one.
  func isLockLost() throws(Failure) -> Bool {
    try FileSystem.status(of: folder.runnerLock)?.identity != ownLock.withLock { $0.identity }
  }

  /// Acquires the runner lock, also again after its file was removed; returns false if another runner is
  /// active and this one must not wait.
  func takeOver() throws(Failure) -> Bool {
    let isInherited = try hasLock ? !isLockLost() : false
    var isLocked = isInherited
    while !isLocked {
      if try isLockLost() {
        let new = try RunnerLock.open(folder)
        let own = try OwnLock(new)
        ownLock.withLock { $0 = own }
      }
      if try !lock.tryLock() {
        // The lock may only have been probed.
        if try RunnerLock.isHeld(folder) {
          // The other runner checks for jobs once more before it releases the lock.
          if kind == .background { return false }
          say("serialq: another runner is active on queue \(folder.name.text); following it")
        }
        try whileWaiting(lock.lock)
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

  /// Waits for another process, possibly forever.
  func whileWaiting(_ wait: () throws(Failure) -> Void) throws(Failure) {
    state.withLock { $0.isWaitingForLock = true }
    // A stop just before still saw `hasWork` as true; its caller must check again.
    if supervision.isStopped { wake() }
    defer { state.withLock { $0.isWaitingForLock = false } }
    try wait()
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

/// The last known state of the queue.
struct QueueView: Sendable {
  var queue: Queue { reader.queue }
  var reader: JournalReader
  let journal: Journal

  init(_ folder: QueueFolder) {
    reader = JournalReader(folder)
    journal = Journal(folder)
  }
}

extension Runner {
  /// Does `work`, and again at growing intervals of up to a second while it fails for want of something
  /// that comes back, unless the runner is to end at once or `isBegun`: what has had an effect cannot be
  /// done again.
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
    _ work: (inout QueueView, inout JournalScope) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try view.withLock { (view) throws(Failure) in
      let journal = view.journal
      var isBegun = false
      return try patiently(unless: { isBegun }) { () throws(Failure) in
        try journal.locked { (scope) throws(Failure) in
          try scope.read(&view.reader)
          isBegun = true
          return try work(&view, &scope)
        }
      }
    }
  }

  /// Reads the journal, and returns what `find` returns for the current queue.
  func current<Result>(_ find: (Queue) -> Result) throws(Failure) -> Result {
    try view.withLock { (view) throws(Failure) in
      _ = try patiently { () throws(Failure) in try view.reader.read() }
      return find(view.queue)
    }
  }

  /// What was requested for a running job, among its other properties.
  ///
  /// `isEnding` is whether the job is being ended, and so is not suspended.
  func requests(for id: JobID, isEnding: Bool) throws(Failure) -> Run.Running {
    func found() throws(Failure) -> Run.Running {
      try current { $0.job(id)?.running ?? .unknown }
    }
    let running = try found()
    guard running.suspension.since != nil, isEnding else { return running }
    // It is continued to receive the signal, and the queue must not say otherwise. Ignores errors:
    // the disk may be full, and the job must be ended nevertheless.
    try? decide { (view, scope) throws(Failure) in
      let run = view.queue.job(id)?.run.continued(at: Clock.reading())
      if let run { try scope.append([.run(id, run)]) }
    }
    return try found()
  }

  /// Records the end of a job and its consequences.
  ///
  /// `launch` is what its launcher reported, and `unlogged` why output may be missing in its log.
  /// Calls `end` with the job, under the journal's lock: otherwise a request that arrives in between
  /// would be lost, and the job could be retried. Then calls `next`, under the same lock.
  func record(
    of job: Job, _ launch: Launch? = nil, unlogged: Bytes? = nil, flush: Bool,
    as end: (_ current: Job) -> (Run.Outcome, at: Timestamp),
    next: (inout QueueView, inout JournalScope) throws(Failure) -> Void = { _, _ in }
  ) throws(Failure) {
    try decide { (view, scope) throws(Failure) in
      guard let current = view.queue.running(job) else { return try next(&view, &scope) }
      let (outcome, at) = end(current)
      let run = unlogged.flatMap { current.run.unlogged($0) } ?? current.run
      let over = run.ended(outcome, at: at, launch: launch)
      let entries = over.map { view.queue.end(of: current, $0, at: Clock.reading()) } ?? []
      let forgotten = entries.flatMap(\.forgottenIDs)
      // After the line is durable: a log must not be lost while its job can reappear.
      let lines = try scope.append(entries, flush: flush || !forgotten.isEmpty)
      // Of the queue that still has the forgotten jobs.
      if folder.removeFiles(of: forgotten, in: view.queue) { keepsLogs.withLock { $0 = true } }
      removeKeptLogs()
      try view.reader.take(lines)
      // Otherwise `status` could not find out whether a process that could not be ended still runs.
      if current.execution?.left == nil {
        removeSpareLock()
        spareLock.withLock { $0 = JobLock.remove(current, folder) }
      }
      try next(&view, &scope)
    }
  }

  /// Removes the logs that this runner kept for followers, once no follower is left.
  ///
  /// A follower removes them itself, unless it is killed.
  private func removeKeptLogs() {
    guard keepsLogs.withLock({ $0 }), !UnreadLogs(in: folder).contain(1...Int.max) else { return }
    keepsLogs.withLock { $0 = false }
    folder.removeKeptLogs(among: (try? FileSystem.names(in: folder.locks)) ?? [])
  }

  /// Removes the lock file of the last job, if no other follows at once.
  func removeSpareLock() {
    if let id = takeSpareLock() { JobLock.removeFile(of: id, folder) }
  }

  /// Acquires the lock and makes the log of a job that has not run, while another one runs.
  ///
  /// This would be much of the time between two short jobs. Ignores errors, and a wrong prediction: the
  /// files have no effect.
  func prepare(_ job: Job) {
    guard prepared.withLock({ $0 == nil }) else { return }
    do throws(Failure) {
      let lock = try JobLock.take(job.id, spare: takeSpareLock(), folder)
      let log = try FileDescriptor.open(folder.log(job.id), .emptyLog)
      prepared.withLock { $0 = PreparedJob(id: job.id, lock: lock, log: log) }
    } catch {}
  }

  func removePrepared() {
    let prepared = self.prepared.withLock { $0.take() }
    // An empty log stays, for the job.
    if let prepared { JobLock.removeFile(of: prepared.id, folder) }
  }

  func takeSpareLock() -> JobID? {
    spareLock.withLock { $0.take() }
  }
}
