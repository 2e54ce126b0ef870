import SerialqSystem

/// The state of a queue: a pure fold over its events.
///
/// Total: ignores an event that refers to an unknown job or does not fit the current state. Damage
/// to an earlier line leaves such events behind. An event that proves that a job ran always counts:
/// otherwise the job could run twice because the line of its start was lost.
package struct Queue: Equatable, Sendable {
  // Changed only by ``apply(_:)-(Event)``, which spans several files.

  /// All jobs, by id.
  package internal(set) var jobs: [Job] = []
  /// The id of the next job to be added.
  var nextID: JobID = 1
  /// The running jobs, in the order of their starts.
  ///
  /// More than one only if the end of one was lost: the runner recovers all of them.
  package internal(set) var running: [JobID] = []
  /// Why the queue is paused; nil if it is not.
  package internal(set) var pause: Pause?
  package internal(set) var settings = Settings()
  /// The job that had the last turn; it may have been forgotten.
  var previous: Previous?
  var order = WaitingOrder()
  var counts = [Int](repeating: 0, count: JobState.allCases.count)
  var acknowledged = 0

  package init() {}

  /// Why and since when the queue is paused.
  package struct Pause: Equatable, Sendable {
    /// Nil if its line was damaged.
    package internal(set) var at: Timestamp?
    /// The job whose failure paused the queue; nil after a manual pause.
    package internal(set) var because: JobID?
  }

  /// The settings of the `set` command.
  package struct Settings: Equatable, Sendable {
    package internal(set) var stopsOnFailure = false
    package internal(set) var onFinish: Hook?
    /// The number of finished jobs to keep; nil for all.
    package internal(set) var keep: Int?
  }

  /// The job that had the last turn, and whether it succeeded.
  struct Previous: Equatable, Sendable {
    var id: JobID
    var succeeded: Bool
  }

  package var isPaused: Bool { pause != nil }

  /// The job with this id; O(log n), or O(1) if no job was forgotten.
  package func job(_ id: JobID) -> Job? { index(of: id).map { jobs[$0] } }

  /// The number of jobs in this state; O(1).
  package func count(_ state: JobState) -> Int { counts[Int(state.rawValue)] }

  /// The number of finished jobs; O(1).
  package var overCount: Int { jobs.count - count(.waiting) - count(.running) }

  /// The number of unacknowledged failures; O(1).
  package var openFailureCount: Int {
    JobState.allCases.reduce(-acknowledged) { $1.isFailure ? $0 + count($1) : $0 }
  }

  /// The unacknowledged failures, by id; O(n).
  package var openFailures: [Job] { openFailureCount == 0 ? [] : jobs.filter(\.isOpenFailure) }

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
    // Cancelled and skipped jobs did not run; a job that waits again has no log to show.
    func hasRun(_ job: Job) -> Bool { job.state != .waiting && job.run?.started != nil }
    let last = (running.last ?? previous?.id).flatMap(job)
    if let last, hasRun(last) { return last }
    return jobs.filter(hasRun).max { job, other in
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
  package var inOrder: [Job] { jobs.filter { $0.state != .waiting } + waiting }

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
    case .started(let id, let attempt, let at, let boot, let uptime):
      start(id, Job.Run(attempt: attempt, started: at, boot: boot, uptime: uptime))
    case .spawned(let id, let pid):
      proceed(id, to: .running) { $0.pid = pid }
    case .cancelling(let id, _, let signal):
      proceed(id, to: .running) { $0.requests.append(signal) }
    case .ended(let id, let at, let duration, let how, let cause):
      proceed(id, to: how.state(because: cause)) { run in
        run.ended = at
        run.duration = duration
        run.how = how
      }
    case .interrupted(let id, let at):
      proceed(id, to: .interrupted) { $0.ended = at }
    case .cancelled(let id, let at): cancel(id, at)
    case .skipped(let id, let at, let because): skip(id, at, because)
    case .retried(let retry): self.retry(retry)
    case .moved(let id, _, let place): move(id, place)
    case .edited(let id, _, let command):
      ifWaiting(id) { queue, index in queue.jobs[index].command = command }
    case .acknowledged(let id, _): acknowledge(id)
    case .hookFailed(let id, _, let how): failHook(id, how)
    case .forgotten(let ids, _): forget(ids)
    case .paused(let at, let because): pause(Pause(at: at, because: because))
    case .resumed: resume()
    case .set(let setting, _): set(setting)
    case .compacted: true
    case .previous(let id, let succeeded): remember(id, succeeded)
    }
  }

  /// The jobs with these ids, in this order and without duplicates; fails if one does not exist.
  package func jobs(_ ids: [ClosedRange<JobID>], in name: String) throws(Failure) -> [Job] {
    var seen: Set<JobID> = []
    var found: [Job] = []
    for range in ids {
      let start = Queue.place(of: range.lowerBound, in: jobs)
      let part = jobs[start...].prefix { range.contains($0.id) }
      if part.isEmpty || range.count == 1 && part.first?.id != range.lowerBound {
        throw missing(range, in: name)
      }
      found += part.filter { seen.insert($0.id).inserted }
    }
    return found
  }

  package func missing(_ range: ClosedRange<JobID>, in name: String) -> Failure {
    let last = jobs.last.map { "its last job is \($0.id)" } ?? "it has no jobs"
    return Failure(
      range.count == 1 ? "job \(range.text)" : "jobs \(range.text)",
      "queue \(name) has no such job; \(last)",
      next: "See all with: serialq list\(QueueName.option(for: name))")
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
    var low = 0
    var high = jobs.count
    while low < high {
      let middle = (low + high) / 2
      if jobs[middle].id < id { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
