import SerialqSystem

/// The state of a queue: a pure fold over its events.
///
/// Total: an event whose job is not known, or that cannot follow what was, is left out and changes
/// nothing. Such an event is what damage to an earlier line leaves behind. One that shows that a
/// job ran always counts, so that no job runs a second time because the line that said so was lost.
package struct Queue: Equatable, Sendable {
  // Changed by ``apply(_:)-(Event)`` alone, whose parts are in other files.

  /// All jobs, by id.
  package internal(set) var jobs: [Job] = []
  /// The id of the job that will be added next.
  var nextID: JobID = 1
  /// The jobs in state running, in the order in which they were started.
  ///
  /// More than one only when the end of one was
  /// lost: a runner looks at all of them.
  package internal(set) var running: [JobID] = []
  /// Why no job is started, if none is.
  package internal(set) var pause: Pause?
  package internal(set) var settings = Settings()
  /// The job whose turn was last; it may have been forgotten.
  var previous: Previous?
  var order = WaitingOrder()
  var counts = [Int](repeating: 0, count: JobState.allCases.count)
  var acknowledged = 0

  package init() {}

  /// Why and since when no job is started.
  package struct Pause: Equatable, Sendable {
    /// Nil when the line that said so was damaged.
    package internal(set) var at: Timestamp?
    /// The job whose failure stopped the queue; nil when a person did.
    package internal(set) var because: JobID?
  }

  /// What `set` has set.
  package struct Settings: Equatable, Sendable {
    package internal(set) var stopsOnFailure = false
    package internal(set) var onFinish: Hook?
    /// How many finished jobs are kept; nil for all.
    package internal(set) var keep: Int?

    package init(stopsOnFailure: Bool = false, onFinish: Hook? = nil, keep: Int? = nil) {
      self.stopsOnFailure = stopsOnFailure
      self.onFinish = onFinish
      self.keep = keep
    }
  }

  /// The job whose turn was last, and whether it succeeded.
  struct Previous: Equatable, Sendable {
    var id: JobID
    var succeeded: Bool
  }

  /// The same jobs in the same order and the same next id; how the rest came about does not matter.
  package static func == (left: Queue, right: Queue) -> Bool {
    left.nextID == right.nextID && left.running == right.running && left.jobs == right.jobs
      && left.pause == right.pause && left.settings == right.settings
      && left.previous == right.previous && left.waiting.elementsEqual(right.waiting)
  }

  package var isPaused: Bool { pause != nil }

  /// The job of this id; O(log n), O(1) as long as none was forgotten.
  package func job(_ id: JobID) -> Job? { index(of: id).map { jobs[$0] } }

  /// How many jobs are in this state; O(1).
  package func count(_ state: JobState) -> Int { counts[Int(state.rawValue)] }

  /// How many jobs are over; O(1).
  package var overCount: Int { jobs.count - count(.waiting) - count(.running) }

  /// How many failures nobody has taken note of; O(1).
  package var openFailureCount: Int {
    JobState.allCases.reduce(-acknowledged) { $1.isFailure ? $0 + count($1) : $0 }
  }

  /// The failures of which nobody has taken note, by id; O(n).
  package var openFailures: [Job] { openFailureCount == 0 ? [] : jobs.filter(\.isOpenFailure) }

  /// The job whose on-finish command was the latest to be run, and how that failed; nil if it did
  /// not, or none is set any more; O(n) if one is.
  package var latestHookFailure: (JobID, Ending)? {
    guard settings.onFinish != nil else { return nil }
    // It is run for each job whose end a runner saw, and its log is that of the latest.
    let ended = jobs.lazy.filter { $0.run?.how != nil || $0.run?.hook != nil }
    let latest = ended.max { job, other in
      (job.run?.ended ?? job.added).microseconds < (other.run?.ended ?? other.added).microseconds
    }
    return latest.flatMap { job in job.run?.hook.map { (job.id, $0) } }
  }

  /// The job that runs, or ran last, as far as it is known; O(n).
  ///
  /// The dates of the starts decide only where the last turn does not tell: the clock may have been
  /// set back between two.
  package var lastStarted: Job? {
    // Cancelled and skipped jobs have not run; one that waits again has no log to look at.
    func hasRun(_ job: Job) -> Bool { job.state != .waiting && job.run?.started != nil }
    let last = (running.last ?? previous?.id).flatMap(job)
    if let last, hasRun(last) { return last }
    return jobs.filter(hasRun).max { job, other in
      (job.run?.started ?? job.added) < (other.run?.started ?? other.added)
    }
  }

  /// The job that runs next; O(1).
  package var firstWaiting: Job? { job(order.first) }

  /// The jobs that wait, in the order in which they will run; O(1) or O(log n) for each.
  package var waiting: some Sequence<Job> {
    sequence(state: order.first) { (id: inout JobID) -> Job? in
      guard let index = index(of: id) else { return nil }
      id = order.after(index)
      return jobs[index]
    }
  }

  /// The job that runs after this one, if both wait.
  package func waiting(after id: JobID) -> Job? {
    guard let index = index(of: id), jobs[index].state == .waiting else { return nil }
    return job(order.after(index))
  }

  /// All jobs: those that do not wait by id, then those that do in the order in which they will run.
  package var inOrder: [Job] { jobs.filter { $0.state != .waiting } + waiting }

  /// Applies what a line says; false when the event was left out.
  @discardableResult
  package mutating func apply(_ record: Record) -> Bool {
    let counted = apply(record.event)
    // The line knows better than the jobs, some of which may be lost or forgotten.
    nextID = max(record.next, (jobs.last?.id ?? 0) + 1)
    if record.isPaused != isPaused { pause = record.isPaused ? Pause() : nil }
    return counted
  }

  /// Steps over an id: a line that cannot be read may have given it to somebody.
  mutating func skipID() { nextID += 1 }

  /// Applies one event; false when it was left out.
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

  /// Where a job stands among the jobs.
  func index(of id: JobID) -> Int? { Queue.index(of: id, in: jobs) }

  static func index(of id: JobID, in jobs: [Job]) -> Int? {
    // Until something is forgotten, the ids have no gaps.
    if let first = jobs.first, id >= first.id, id - first.id < jobs.count,
      jobs[id - first.id].id == id
    {
      return id - first.id
    }
    let place = place(of: id, in: jobs)
    return place < jobs.count && jobs[place].id == id ? place : nil
  }

  /// The place of the first job whose id is not lower.
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
