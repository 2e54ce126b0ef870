import SerialqSystem

/// The state of a queue: a pure fold over its events.
///
/// Total: ignores an event that refers to an unknown job or does not fit the current state. Damage
/// to an earlier line leaves such events behind. An event that proves that a job ran always counts:
/// otherwise the job could run twice because the line of its start was lost.
package struct Queue: Equatable, Sendable {
  /// All jobs, by id.
  package private(set) var jobs: [Job] = []
  /// The id of the next job to be added.
  private(set) var nextID: JobID = 1
  /// The running jobs, in the order of their starts.
  ///
  /// More than one only if the end of one was lost: the runner recovers all of them.
  package private(set) var running: [JobID] = []
  /// Why the queue is paused; nil if it is not.
  package private(set) var pause: Pause?
  package private(set) var settings = Settings()
  /// Counted for the on-idle command, if one is set.
  package private(set) var results = Results()
  /// How the on-idle command ended last, if it failed.
  package private(set) var idleHookFailure: Ending?
  /// The job that had the last turn; it may have been forgotten.
  private(set) var previous: Previous?
  private var order = WaitingOrder()
  private var counts = [Int](repeating: 0, count: JobState.allCases.count)
  private var acknowledged = 0

  package init() {}

  /// Why and since when the queue is paused.
  package struct Pause: Equatable, Sendable {
    /// Nil if its line was damaged.
    package fileprivate(set) var at: Timestamp?
    /// The job whose failure paused the queue; nil after a manual pause.
    package fileprivate(set) var because: JobID?
  }

  /// The settings of the `set` command.
  package struct Settings: Equatable, Sendable {
    package fileprivate(set) var stopsOnFailure = false
    package fileprivate(set) var onFinish: Hook?
    package fileprivate(set) var onIdle: Hook?
    /// Run when a job seems to ask something on its terminal.
    package fileprivate(set) var onAsk: Hook?
    /// The number of finished jobs to keep; nil for all.
    package fileprivate(set) var keep: Int?
    /// The shell for command lines; nil for the default.
    package fileprivate(set) var shell: Bytes?
    /// The most bytes to keep of the log of a finished job; nil for all.
    package fileprivate(set) var logLimit: Int?
    /// Whether jobs get a terminal.
    package fileprivate(set) var terminal = false
    /// The command that executes jobs; nil for none.
    package fileprivate(set) var launcher: Bytes?
  }

  /// The job that had the last turn, and whether it succeeded.
  struct Previous: Equatable, Sendable {
    let id: JobID
    let succeeded: Bool
  }

  package var isPaused: Bool { pause != nil }

  /// The running jobs that are suspended.
  package var suspended: [Job] { running.compactMap(job).filter { $0.suspendedSince != nil } }

  /// The job with this id; O(log n), or O(1) if no job was forgotten.
  package func job(_ id: JobID) -> Job? { index(of: id).map { jobs[$0] } }

  /// The number of jobs in this state; O(1).
  package func count(_ state: JobState) -> Int { counts[Int(state.rawValue)] }

  /// The number of finished jobs; O(1).
  package var overCount: Int { jobs.count - count(.waiting) - count(.running) }

  /// The number of unacknowledged failures and skipped jobs; O(1).
  package var openCount: Int {
    JobState.allCases.reduce(-acknowledged) { $1.opens ? $0 + count($1) : $0 }
  }

  /// The unacknowledged failures and skipped jobs, by id; O(n).
  package var openJobs: [Job] { openCount == 0 ? [] : jobs.filter(\.isOpen) }

  /// The job with the latest on-finish command, and how that failed.
  ///
  /// Nil if it succeeded, or if no on-finish command is set. O(n) if one is set.
  package var latestHookFailure: (JobID, Ending)? {
    guard settings.onFinish != nil else { return nil }
    // The command runs for each job whose end a runner observed; `hook.log` is that of the latest.
    let ended = jobs.lazy.filter { $0.run?.how != nil || $0.run?.hook != nil }
    let latest = ended.max { job, other in
      (job.run?.ended ?? job.added).microseconds < (other.run?.ended ?? other.added).microseconds
    }
    return latest.flatMap { job in job.run?.hook.map { (job.id, $0) } }
  }

  /// The job that is running or ran last, if known; O(n).
  ///
  /// Compares start dates only if the last turn is unknown: the clock may have been set back
  /// between them.
  package var lastStarted: Job? {
    let last = (running.last ?? previous?.id).flatMap(job)
    if let last, last.hasRun { return last }
    return jobs.filter(\.hasRun).max { job, other in
      (job.run?.started ?? job.added) < (other.run?.started ?? other.added)
    }
  }

  /// The next job to run; O(1).
  package var firstWaiting: Job? { job(order.first) }

  /// The waiting jobs in the order in which they will run; O(1) or O(log n) each.
  package var waiting: some Sequence<Job> {
    sequence(state: order.first) { (id: inout JobID) -> Job? in
      guard let index = index(of: id) else { return nil }
      id = order.after(index)
      return jobs[index]
    }
  }

  /// The job that runs after this one, if both are waiting.
  package func waiting(after id: JobID) -> Job? {
    guard let index = index(of: id), jobs[index].state == .waiting else { return nil }
    return job(order.after(index))
  }

  /// All jobs: first those that are not waiting, by id, then the waiting ones in the order of
  /// running.
  package var inOrder: [Job] {
    var inOrder: [Job] = []
    // Grown to a million jobs step by step, it would be copied twice.
    inOrder.reserveCapacity(jobs.count)
    for job in jobs where job.state != .waiting { inOrder.append(job) }
    inOrder += waiting
    return inOrder
  }

  /// Applies a journal line; returns false if the event was ignored.
  @discardableResult
  package mutating func apply(_ record: Record) -> Bool {
    let counted = apply(record.event)
    // The line takes precedence over the jobs, some of which may be lost or forgotten.
    nextID = max(record.next, (jobs.last?.id ?? 0) + 1)
    if record.isPaused != isPaused { pause = record.isPaused ? Pause() : nil }
    return counted
  }

  /// Skips an id that an unreadable line may have assigned.
  mutating func skipID() { nextID += 1 }

  /// Applies one event; returns false if it was ignored.
  @discardableResult
  package mutating func apply(_ event: Event) -> Bool {
    switch event {
    case .added(let new): add(new)
    case .started(let id, let attempt, let at, let boot, let uptime, let hasTerminal):
      start(
        id,
        Job.Run(
          attempt: attempt, started: at, boot: boot, uptime: uptime, hasTerminal: hasTerminal))
    case .spawned(let id, let pid):
      proceed(id, to: .running) { $0.pid = pid }
    case .cancelling(let id, _, let signal):
      proceed(id, to: .running) { $0.requests.append(signal) }
    case .suspended(let id, let at, let uptime): suspend(id, at, uptime)
    case .continued(let id, _, let uptime): `continue`(id, uptime)
    case .left(let id, let processes):
      proceed(id, to: .running) { $0.left = processes }
    case .asked(let id, _, let question): ask(id, question)
    case .unlogged(let id, let reason): recordLoss(id, reason)
    case .launched(let id, let launch):
      proceed(id, to: .running) { $0.launch = launch }
    case .ended(let id, let at, let duration, let how, let cause):
      proceed(id, to: how.state(because: cause)) { run in
        run.ended = at
        run.duration = duration
        run.how = how
      }
    case .interrupted(let id, let at, let stopped):
      proceed(id, to: .interrupted) { run in
        run.ended = at
        run.isRunnerStopped = stopped
      }
    case .cancelled(let id, let at): cancel(id, at)
    case .skipped(let id, let at, let because): skip(id, at, because)
    case .retried(let retry): self.retry(retry)
    case .moved(let id, _, let place): move(id, place)
    case .edited(let id, _, let command, let options):
      ifWaiting(id) { queue, index in queue.jobs[index].edit(command, options) }
    case .acknowledged(let id, _): acknowledge(id)
    case .hookFailed(let id?, _, let how): failHook(id, how)
    case .hookFailed(nil, _, let how): failIdleHook(how)
    case .counted(let results, _): count(results)
    case .forgotten(let ids, _): forget(ids)
    case .paused(let at, let because): pause(Pause(at: at, because: because))
    case .resumed: resume()
    case .set(let setting, _): set(setting)
    case .compacted: true
    case .previous(let id, let succeeded): remember(id, succeeded)
    }
  }

  func index(of id: JobID) -> Int? { Queue.index(of: id, in: jobs) }

  static func index(of id: JobID, in jobs: [Job]) -> Int? {
    // Ids have no gaps until a job is forgotten.
    if let first = jobs.first, id >= first.id, id - first.id < jobs.count,
      jobs[id - first.id].id == id
    {
      return id - first.id
    }
    let place = place(of: id, in: jobs)
    return place < jobs.count && jobs[place].id == id ? place : nil
  }

  /// The index of the first job whose id is not lower.
  static func place(of id: JobID, in jobs: [Job]) -> Int {
    firstIndex(upTo: jobs.count) { jobs[$0].id < id }
  }
}

// MARK: - Transitions

extension Queue {
  private mutating func add(_ new: NewJob) -> Bool {
    var index = jobs.count
    if let last = jobs.last, new.id <= last.id {
      // serialq never writes ids out of order, but a hand-edited file must still produce a queue.
      index = Queue.place(of: new.id, in: jobs)
      if jobs[index].id == new.id { return false }
    }
    let isNewest = index == jobs.count
    jobs.insert(Job(new), at: index)
    order.makeRoom(at: index)
    counts[Int(JobState.waiting.rawValue)] += 1
    nextID = max(nextID, new.id + 1)
    // The job to place it next to may be lost to damage; the job itself must not be.
    let isThere = link(index, new.place)
    if !isThere { _ = link(index, .first) }
    jobs[index].isPlaced = !isNewest || new.place != .last
    return true
  }

  private mutating func start(_ id: JobID, _ new: Job.Run) -> Bool {
    guard let index = index(of: id) else { return false }
    let run = jobs[index].run
    // Only a higher attempt restarts a finished job: its retry event may have been lost, but an old
    // line must not restart it.
    guard jobs[index].state == .waiting || new.attempt > run?.attempt ?? 0 else { return false }
    enter(index, .running)
    var new = new
    new.used = run?.used ?? 0
    jobs[index].run = new
    return true
  }

  /// Updates a running job, or one whose start event was lost; ignores events for any other.
  private mutating func proceed(
    _ id: JobID, to state: JobState, _ change: (inout Job.Run) -> Void
  ) -> Bool {
    guard let index = index(of: id), !jobs[index].state.isOver else { return false }
    var run = jobs[index].run ?? Job.Run(attempt: 0)
    if jobs[index].state == .waiting { run.attempt += 1 }
    enter(index, state)
    if state.isOver {
      run.pid = nil
      run.uptime = nil
      run.requests = []
      run.suspension = Suspension()
      if run.question != nil { run.question = nil }
      previous = Previous(id: id, succeeded: state == .succeeded)
      count(state, hasRun: true)
    }
    run.due = nil
    run.isFree = false
    change(&run)
    jobs[index].run = run
    return true
  }

  private mutating func suspend(_ id: JobID, _ at: Timestamp, _ uptime: Int64) -> Bool {
    // A job that is being ended must use its grace period.
    if let run = job(id)?.run, run.suspension.since != nil || !run.requests.isEmpty { return false }
    return proceed(id, to: .running) { run in
      run.suspension.since = at
      run.suspension.uptime = uptime
    }
  }

  private mutating func `continue`(_ id: JobID, _ uptime: Int64) -> Bool {
    guard job(id)?.run?.suspension.since != nil else { return false }
    return proceed(id, to: .running) { run in
      run.suspension = Suspension(earlier: run.suspension.total(at: uptime))
      // These could not be suspended.
      run.left = nil
    }
  }

  /// Ignored unless the job is running: a late line must not seem to start it again.
  private mutating func ask(_ id: JobID, _ question: Question?) -> Bool {
    guard let job = job(id), job.state == .running, job.run?.question != question else {
      return false
    }
    return proceed(id, to: .running) { $0.question = question }
  }

  /// Accepted also after the end of the job, which does not depend on its log.
  private mutating func recordLoss(_ id: JobID, _ reason: Bytes) -> Bool {
    guard let index = index(of: id), jobs[index].state != .waiting, jobs[index].hasRun
    else { return false }
    jobs[index].run?.unlogged = reason
    return true
  }

  private mutating func cancel(_ id: JobID, _ at: Timestamp) -> Bool {
    guard let index = index(of: id), !jobs[index].state.isOver else { return false }
    if jobs[index].state == .running {
      return proceed(id, to: .cancelled) { $0.ended = at }
    }
    leave(index, .cancelled) { $0.ended = at }
    return true
  }

  private mutating func skip(_ id: JobID, _ at: Timestamp, _ because: JobID) -> Bool {
    ifWaiting(id) { queue, index in
      queue.leave(index, .skipped) { run in
        run.ended = at
        run.because = because
      }
      queue.previous = Previous(id: id, succeeded: false)
    }
  }

  /// Ends a waiting job that did not run.
  private mutating func leave(
    _ index: Int, _ state: JobState, _ change: (inout Job.Run) -> Void
  ) {
    let run = jobs[index].run
    enter(index, state)
    count(state, hasRun: false)
    var left = Job.Run(
      attempt: run?.attempt ?? 0, used: run?.used ?? 0, hasTerminal: run?.hasTerminal ?? false)
    change(&left)
    jobs[index].run = left
  }

  private mutating func retry(_ retry: Retry) -> Bool {
    guard let index = index(of: retry.id), !isSelf(retry.place, retry.id) else { return false }
    let job = jobs[index]
    // An old line must not restart a job; a job whose end event was lost has ended.
    let isNews =
      job.state == .waiting
      ? retry.attempts > job.run?.attempt ?? 0
      : retry.attempts >= job.run?.attempt ?? 0
    guard isNews || (job.state == .waiting && job.run == nil) else { return false }
    // The attempt was counted, but is not the result of the job.
    if retry.used > 0, settings.onIdle != nil { results.count(job.state, -1) }
    enter(index, .waiting)
    if !link(index, retry.place) { _ = link(index, .last) }
    jobs[index].isPlaced = true
    jobs[index].run = Job.Run(
      attempt: retry.attempts, used: retry.used, due: retry.due, isFree: retry.isFree,
      hasTerminal: retry.hasTerminal || job.run?.hasTerminal == true)
    return true
  }

  private mutating func move(_ id: JobID, _ place: Place) -> Bool {
    guard !isSelf(place, id), let index = index(of: id), jobs[index].state == .waiting
    else { return false }
    if let neighbor = place.neighbor, self.job(neighbor)?.state != .waiting { return false }
    unlink(index)
    _ = link(index, place)
    jobs[index].isPlaced = true
    return true
  }

  private func isSelf(_ place: Place, _ id: JobID) -> Bool { place.neighbor == id }

  private mutating func ifWaiting(_ id: JobID, _ change: (inout Queue, Int) -> Void) -> Bool {
    guard let index = index(of: id), jobs[index].state == .waiting else { return false }
    change(&self, index)
    return true
  }

  private mutating func acknowledge(_ id: JobID) -> Bool {
    guard let index = index(of: id), jobs[index].isOpen else { return false }
    jobs[index].isAcknowledged = true
    acknowledged += 1
    return true
  }

  private mutating func failHook(_ id: JobID, _ how: Ending) -> Bool {
    guard let index = index(of: id), var run = jobs[index].run, jobs[index].state.isOver
    else { return false }
    run.hook = how
    jobs[index].run = run
    return true
  }

  private mutating func failIdleHook(_ how: Ending) -> Bool {
    guard settings.onIdle != nil else { return false }
    idleHookFailure = how
    return true
  }

  private mutating func count(_ new: Results) -> Bool {
    guard settings.onIdle != nil else { return false }
    results = new
    idleHookFailure = nil
    return true
  }

  private mutating func count(_ state: JobState, hasRun: Bool) {
    guard settings.onIdle != nil else { return }
    results.count(state, 1)
    if hasRun { results.hasRun = true }
  }

  /// Pauses the queue; keeps the reason of the first pause.
  private mutating func pause(_ new: Pause) -> Bool {
    // A pause known only from the mark of a line is replaced by an event that has the reason.
    guard pause == nil || (pause?.at == nil && new.at != nil) else { return false }
    pause = new
    return true
  }

  private mutating func resume() -> Bool {
    guard isPaused else { return false }
    pause = nil
    return true
  }

  private mutating func set(_ setting: Setting) -> Bool {
    switch setting {
    case .stopsOnFailure(let stops): settings.stopsOnFailure = stops
    case .onFinish(let hook): settings.onFinish = hook
    case .onIdle(let hook):
      // What ended before does not concern a new command, but a changed one continues to count.
      if settings.onIdle == nil || hook == nil { results = Results() }
      idleHookFailure = nil
      settings.onIdle = hook
    case .keep(let count): settings.keep = count
    case .shell(let path): settings.shell = path
    case .logLimit(let size): settings.logLimit = size
    case .onAsk(let hook): settings.onAsk = hook
    case .terminal(let isOn): settings.terminal = isOn
    case .launcher(let command): settings.launcher = command
    }
    return true
  }

  private mutating func remember(_ id: JobID, _ succeeded: Bool) -> Bool {
    previous = Previous(id: id, succeeded: succeeded)
    return true
  }

  /// Removes the finished jobs among these, in one pass.
  private mutating func forget(_ ids: [ClosedRange<JobID>]) -> Bool {
    var kept = 0
    var succeeded: [ClosedRange<JobID>] = []
    var ranges = ids.sorted { $0.lowerBound < $1.lowerBound }[...]
    for index in jobs.indices {
      let job = jobs[index]
      while let range = ranges.first, range.upperBound < job.id { ranges.removeFirst() }
      if job.state.isOver, ranges.first?.contains(job.id) == true {
        counts[Int(job.state.rawValue)] -= 1
        if job.isAcknowledged { acknowledged -= 1 }
        if job.state == .succeeded { succeeded.append(next: job.id) }
        continue
      }
      if kept != index {
        jobs[kept] = job
        order.moveLink(from: index, to: kept)
      }
      // Keeps the results that this job requires: a missing job counts as not successful. A job
      // requires only lower ids, so all of them precede it.
      if !succeeded.isEmpty, !job.limits.after.isEmpty {
        jobs[kept].limits.after = job.limits.after.subtracting(succeeded)
      }
      kept += 1
    }
    let isAny = kept < jobs.count
    jobs.removeSubrange(kept...)
    order.keepRoom(for: kept)
    return isAny
  }
}

// MARK: - Derived state

extension Queue {
  /// Sets the state of a job and updates the derived state.
  ///
  /// The caller must link a job that enters waiting.
  private mutating func enter(_ index: Int, _ state: JobState) {
    let old = jobs[index].state
    if old == .waiting { unlink(index) }
    counts[Int(old.rawValue)] -= 1
    counts[Int(state.rawValue)] += 1
    jobs[index].state = state
    jobs[index].isPlaced = false
    if jobs[index].isAcknowledged {
      jobs[index].isAcknowledged = false
      acknowledged -= 1
    }
    if old == .running, state != .running { running.removeAll { $0 == jobs[index].id } }
    if state == .running, old != .running { running.append(jobs[index].id) }
  }

  /// Links a job into the waiting order; returns false if its neighbor is not waiting.
  private mutating func link(_ index: Int, _ place: Place) -> Bool {
    // A hand-edited line could name the job itself, which would create a cycle.
    guard !isSelf(place, jobs[index].id) else { return false }
    let (before, after): (JobID, JobID)
    switch place {
    case .last: (before, after) = (order.last, WaitingOrder.none)
    case .first: (before, after) = (WaitingOrder.none, order.first)
    case .before(let next):
      guard let next = self.index(of: next), jobs[next].state == .waiting else { return false }
      (before, after) = (order.before(next), jobs[next].id)
    case .after(let last):
      guard let last = self.index(of: last), jobs[last].state == .waiting else { return false }
      (before, after) = (jobs[last].id, order.after(last))
    }
    let jobs = jobs
    order.insert(jobs[index].id, at: index, between: before, and: after) {
      Queue.index(of: $0, in: jobs)
    }
    return true
  }

  private mutating func unlink(_ index: Int) {
    let jobs = jobs
    order.remove(at: index) { Queue.index(of: $0, in: jobs) }
  }
}

// MARK: - Jobs

/// The times for which a running job was suspended, by the monotonic clock.
package struct Suspension: Equatable, Sendable {
  /// When the job was suspended; nil if it is not.
  package var since: Timestamp?
  /// The monotonic clock at that time.
  var uptime: Int64 = 0
  /// Nanoseconds of the suspensions before.
  package var earlier: Int64 = 0

  package init(since: Timestamp? = nil, uptime: Int64 = 0, earlier: Int64 = 0) {
    self.since = since
    self.uptime = uptime
    self.earlier = earlier
  }

  /// Nanoseconds of all suspensions until now.
  package func total(at now: Int64) -> Int64 {
    guard since != nil else { return earlier }
    // Any line is accepted: the sum may be too large.
    let (sum, isTooLarge) = earlier.addingReportingOverflow(max(0, now - uptime))
    return isTooLarge ? .max : sum
  }
}

/// A job of a queue, as reconstructed from the events.
///
/// Kept small: 100,000 jobs must fit in a runner of 40 MB. Rarely used properties are stored
/// separately, in a box.
package struct Job: Equatable, Sendable {
  package let id: JobID
  package fileprivate(set) var state: JobState
  package fileprivate(set) var isAcknowledged = false
  /// Whether the job was moved away from its position by id.
  fileprivate(set) var isPlaced = false
  fileprivate(set) var payload: Payload
  package fileprivate(set) var added: Timestamp
  private var box: Box?

  fileprivate init(_ new: NewJob) {
    id = new.id
    state = .waiting
    payload = new.payload
    added = new.at
    if new.limits != .none { limits = new.limits }
  }

  fileprivate mutating func edit(_ command: Command, _ options: EditedOptions?) {
    payload.command = command
    guard let options else { return }
    payload.context = options.context
    payload.label = options.label
    payload.terminal = options.terminal
    limits = options.limits
    run?.isFree = options.isFree
  }

  /// The last attempt; nil if the job never ran.
  package fileprivate(set) var run: Run? {
    get { box?.run }
    set { box = newValue == nil && limits == .none ? nil : Box(newValue, limits) }
  }

  /// Whether the job had an attempt, and so has a log; also while it waits for another.
  package var hasRun: Bool { (run?.attempt ?? 0) > 0 }

  /// The timeout, retries and conditions of the job.
  package fileprivate(set) var limits: Limits {
    get { box?.limits ?? .none }
    set {
      var limits = newValue
      // A hand-edited line could name the job itself or a later one, which would create a cycle.
      if let last = limits.after.last, last.upperBound >= id {
        limits.after = limits.after.filter { $0.lowerBound < id }.map {
          $0.lowerBound...min($0.upperBound, id - 1)
        }
      }
      box = run == nil && limits == .none ? nil : Box(run, limits)
    }
  }

  /// The jobs without whose success this one is skipped.
  var requirements: [ClosedRange<JobID>] { run?.isFree == true ? [] : limits.after }

  /// Whether the cancellation of the running job was requested.
  package var isCancelRequested: Bool { run?.requests.isEmpty == false }

  /// When the running job was suspended; nil if it is not.
  package var suspendedSince: Timestamp? { run?.suspension.since }

  /// Nanoseconds for which the attempt has been running, without suspensions; nil if unknown.
  package func running(_ now: ClockReading) -> Int64? {
    sinceStart(now).map { max(0, $0 - (run?.suspension.total(at: now.monotonic) ?? 0)) }
  }

  /// Nanoseconds since the attempt started; nil if unknown.
  ///
  /// Uses the monotonic clock if the machine has not rebooted since: after a change of the date,
  /// the job would seem to have used up its timeout, or to have just started.
  package func sinceStart(_ now: ClockReading) -> Int64? {
    guard let run, let started = run.started else { return nil }
    if let uptime = run.uptime, let boot = run.boot, !boot.isEmpty, boot == now.boot,
      uptime <= now.monotonic
    {
      return now.monotonic - uptime
    }
    return max(0, now.date.microseconds - started.microseconds) * 1_000
  }

  /// When the job reached a final state, or the best known estimate.
  package var overSince: Timestamp { run?.ended ?? added }

  /// Whether the job failed or was skipped, and is not acknowledged.
  package var isOpen: Bool { state.opens && !isAcknowledged }

  package struct Run: Equatable, Sendable {
    /// Counts from 1; 0 if the job was cancelled before its first attempt.
    package fileprivate(set) var attempt = 1
    /// The number of automatic retries used.
    package fileprivate(set) var used = 0
    /// Nil if its line was damaged, and while the job waits for its next attempt.
    package fileprivate(set) var started: Timestamp?
    fileprivate(set) var boot: Bytes?
    /// The monotonic clock at the start, relative to `boot`; set only while the job runs.
    fileprivate(set) var uptime: Int64?
    /// Set only while the job runs.
    package fileprivate(set) var pid: Int32?
    /// When the job ended, was found interrupted, or was cancelled.
    package fileprivate(set) var ended: Timestamp?
    /// In nanoseconds.
    package fileprivate(set) var duration: Int64?
    /// Nil if the job was interrupted, or cancelled before it ran.
    package fileprivate(set) var how: Ending?
    /// The earliest start of the next attempt; set only while the job waits for it.
    package fileprivate(set) var due: Timestamp?
    /// Whether the next attempt ignores the results of other jobs; set only while the job waits for
    /// it.
    fileprivate(set) var isFree = false
    /// The termination signals requested so far, the latest last; set only while the job runs.
    package fileprivate(set) var requests: [Int32] = []
    /// How long the job was suspended; set only while it runs.
    package fileprivate(set) var suspension = Suspension()
    /// Whether the job was interrupted because its runner was stopped, not because it died.
    package fileprivate(set) var isRunnerStopped = false
    /// The job because of which this one was skipped.
    package fileprivate(set) var because: JobID?
    /// Whether the attempt has a terminal, or while the job waits for another, the last one had.
    package fileprivate(set) var hasTerminal = false
    /// Nil for most attempts, which keeps them small.
    private var rare: Rare?
  }

  /// Holds rarely used properties outside of the job, which keeps ``Job`` small.
  private final class Box: Equatable, Sendable {
    let run: Run?
    let limits: Limits
    init(_ run: Run?, _ limits: Limits) {
      self.run = run
      self.limits = limits
    }
    static func == (left: Box, right: Box) -> Bool {
      left.run == right.run && left.limits == right.limits
    }
  }
}

extension Job.Run {
  fileprivate init(
    attempt: Int, used: Int = 0, started: Timestamp? = nil, boot: Bytes? = nil,
    uptime: Int64? = nil, due: Timestamp? = nil, isFree: Bool = false, hasTerminal: Bool = false
  ) {
    self.attempt = attempt
    self.used = used
    self.started = started
    self.boot = boot
    self.uptime = uptime
    self.due = due
    self.isFree = isFree
    self.hasTerminal = hasTerminal
  }

  /// The processes that could not be ended or suspended with the job, and why; as text.
  package fileprivate(set) var left: Bytes? {
    get { rare?.values.left }
    set { change { $0.left = newValue } }
  }

  /// How the on-finish command ended, if it failed.
  package fileprivate(set) var hook: Ending? {
    get { rare?.values.hook }
    set { change { $0.hook = newValue } }
  }

  /// What the job seems to ask on its terminal; set only while the job runs.
  package fileprivate(set) var question: Question? {
    get { rare?.values.question }
    set { change { $0.question = newValue } }
  }

  /// Why output is missing in the log, if it is; as text.
  package fileprivate(set) var unlogged: Bytes? {
    get { rare?.values.unlogged }
    set { change { $0.unlogged = newValue } }
  }

  /// The launcher of the attempt, and what it reported; nil without a launcher.
  package fileprivate(set) var launch: Launch? {
    get { rare?.values.launch }
    set { change { $0.launch = newValue } }
  }

  private mutating func change(_ change: (inout RareValues) -> Void) {
    var values = rare?.values ?? RareValues()
    change(&values)
    rare = values == RareValues() ? nil : Rare(values)
  }

  private struct RareValues: Equatable, Sendable {
    var left: Bytes?
    var hook: Ending?
    var question: Question?
    var unlogged: Bytes?
    var launch: Launch?
  }

  private final class Rare: Equatable, Sendable {
    let values: RareValues
    init(_ values: RareValues) { self.values = values }
    static func == (left: Rare, right: Rare) -> Bool { left.values == right.values }
  }
}
