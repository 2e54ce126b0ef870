import SerialqSystem

/// The state of a queue: what the last line about each thing says.
///
/// Total: ignores a line about an unknown job. Damage to an earlier line leaves such lines behind.
package struct Queue: Equatable, Sendable {
  /// All jobs, by id.
  package private(set) var jobs: [Job] = []
  /// The id of the next job to be added.
  package private(set) var nextID: JobID = 1
  /// The running jobs, in the order of their starts.
  ///
  /// More than one only if the end of one was lost: the runner recovers all of them.
  package private(set) var running: [JobID] = []
  package private(set) var properties = QueueProperties()
  private var order = WaitingOrder()
  private var counts = [Int](repeating: 0, count: JobState.allCases.count)
  private var acknowledged = 0

  package init() {}

  package var isPaused: Bool { properties.pause != nil }
  package var settings: QueueProperties.Settings { properties.settings }

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
    // The command runs for each job whose end a runner observed; `hook.log` is from the latest.
    let ended = jobs.lazy.filter { $0.ending != nil || $0.over?.hookFailure != nil }
    let latest = ended.max { $0.overSince < $1.overSince }
    return latest.flatMap { job in job.over?.hookFailure.map { (job.id, $0) } }
  }

  /// The job that is running or ran last, if known; O(n).
  ///
  /// Compares start dates only if the last turn is unknown: the clock may have been set back
  /// between them.
  package var lastStarted: Job? {
    let last = (running.last ?? properties.previous?.id).flatMap(job)
    if let last, last.hasRun { return last }
    return jobs.filter(\.hasRun).max { $0.started ?? $0.added < $1.started ?? $1.added }
  }

  /// The next job to run; O(1).
  package var firstWaiting: Job? { order.all.first.flatMap { job($0.id) } }

  /// The waiting jobs in the order in which they will run.
  package var waiting: some Sequence<Job> { order.all.lazy.compactMap(current) }

  /// The job that runs after this one, if both are waiting.
  package func waiting(after id: JobID) -> Job? {
    guard let job = job(id), job.state == .waiting else { return nil }
    return order.all[(order.index(of: place(of: job)) + 1)...].lazy.compactMap(current).first
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

  func index(of id: JobID) -> Int? { Self.index(of: id, in: jobs) }

  private static func index(of id: JobID, in jobs: [Job]) -> Int? {
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

// MARK: - Lines

extension Queue {
  package mutating func apply(_ record: Record) {
    apply(record.entry)
    // The line takes precedence over the jobs, some of which may be lost or forgotten.
    nextID = max(record.next, (jobs.last?.id ?? 0) + 1)
    if record.isPaused != isPaused {
      properties.pause = record.isPaused ? QueueProperties.Pause() : nil
    }
  }

  /// Skips the ids that a line which does not count may have assigned.
  mutating func skipIDs(of line: DamagedLine) {
    switch line.fault {
    case .changed: nextID += 1
    case .misplaced(let next): nextID = max(nextID, next)
    case .afterGap: break
    }
  }

  package mutating func apply(_ entry: Entry) {
    switch entry {
    case .job(let id, let spec): set(id, spec)
    case .status(let id, let status): if let index = index(of: id) { change(index, to: status) }
    case .queue(let properties): self.properties = properties
    case .forgotten(let ids): forget(ids)
    }
  }

  private mutating func set(_ id: JobID, _ spec: JobSpec) {
    var spec = spec
    spec.keepRequirements(below: id)
    if let index = index(of: id) {
      jobs[index].spec = spec
      return
    }
    // serialq never writes ids out of order, but a hand-edited file must still produce a queue.
    let index = id > jobs.last?.id ?? 0 ? jobs.count : Self.place(of: id, in: jobs)
    let job = Job(id, spec)
    jobs.insert(job, at: index)
    counts[Int(JobState.waiting.rawValue)] += 1
    nextID = max(nextID, id + 1)
    order.insert(place(of: job))
  }

  /// Changes how a job is, and all that follows from it.
  private mutating func change(_ index: Int, to status: JobStatus) {
    let old = jobs[index]
    jobs[index].status = status
    let new = jobs[index]
    counts[Int(old.state.rawValue)] -= 1
    counts[Int(new.state.rawValue)] += 1
    acknowledged += (new.isAcknowledged ? 1 : 0) - (old.isAcknowledged ? 1 : 0)
    if old.state == .running, new.state != .running { running.removeAll { $0 == new.id } }
    if new.state == .running, old.state != .running { running.append(new.id) }
    let (isWaiting, wasWaiting) = (new.state == .waiting, old.state == .waiting)
    if isWaiting, !wasWaiting || old.rank != new.rank { order.insert(place(of: new)) }
    if wasWaiting, !isWaiting || old.rank != new.rank {
      let jobs = jobs
      order.leave { Self.current($0, in: jobs) != nil }
    }
    properties.count(old, new)
  }

  /// Removes the finished jobs among these, in one pass.
  private mutating func forget(_ ids: [ClosedRange<JobID>]) {
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
      if kept != index { jobs[kept] = job }
      // Keeps the results that this job requires: a missing job counts as not successful. A job
      // requires only lower ids, so all of them precede it.
      if !succeeded.isEmpty, !job.limits.after.isEmpty {
        jobs[kept].spec.details.limits.after = job.limits.after.subtracting(succeeded)
      }
      kept += 1
    }
    jobs.removeSubrange(kept...)
  }

  /// Calls `body` with the last line about each thing.
  ///
  /// One at a time: an array of them could be as large as the queue.
  func forEachEntry(_ body: (Entry) throws(Failure) -> Void) throws(Failure) {
    for job in jobs {
      try body(.job(job.id, job.spec))
      if job.state != .running, job.status != JobStatus() { try body(.status(job.id, job.status)) }
    }
    // In the order of their starts.
    for job in running.compactMap(job) { try body(.status(job.id, job.status)) }
    // After the jobs, whose ends are counted again. Twice if it alone holds the next id.
    if jobs.isEmpty { try body(.queue(properties)) }
    try body(.queue(properties))
  }
}

// MARK: - Order of the waiting jobs

/// A place among the waiting jobs.
package enum Place: Equatable, Sendable {
  case last
  case first
  case before(JobID)
  case after(JobID)

  /// The job that the place is relative to.
  package var neighbor: JobID? {
    switch self {
    case .first, .last: nil
    case .before(let id), .after(let id): id
    }
  }
}

extension Queue {
  private func place(of job: Job) -> WaitingOrder.Place {
    WaitingOrder.Place(rank: job.rank, id: job.id)
  }

  /// The job at a place, unless that is outdated.
  private static func current(_ place: WaitingOrder.Place, in jobs: [Job]) -> Job? {
    guard let index = index(of: place.id, in: jobs), jobs[index].state == .waiting,
      jobs[index].rank == place.rank
    else { return nil }
    return jobs[index]
  }

  private func current(_ place: WaitingOrder.Place) -> Job? { Self.current(place, in: jobs) }

  /// The rank that puts a job at a place; nil if the neighbor is not waiting.
  package func rank(_ place: Place) -> Rank? {
    // A job that is added without regard to the others has no rank between these.
    let (lowest, highest) = (Rank(-nextID), Rank(nextID))
    switch place {
    case .first:
      return .between(lowest, firstWaiting?.rank ?? highest, isCloseToUpper: true)
    case .last:
      return .between(order.all.last?.rank ?? lowest, highest, isCloseToUpper: false)
    case .before(let id):
      guard let next = job(id), next.state == .waiting else { return nil }
      let before = order.all[..<order.index(of: self.place(of: next))].last { current($0) != nil }
      return .between(before?.rank ?? lowest, next.rank, isCloseToUpper: true)
    case .after(let id):
      guard let last = job(id), last.state == .waiting else { return nil }
      return .between(last.rank, waiting(after: id)?.rank ?? highest, isCloseToUpper: false)
    }
  }
}
