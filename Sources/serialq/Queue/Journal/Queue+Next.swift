import SerialqSystem

/// The next action of a runner.
package enum NextStep: Equatable {
  case run(Job)
  /// A required job did not succeed; `because` is the failure at the start of the chain.
  case skip(Job, because: JobID)
  /// The first waiting job must not start before this date.
  case later(Timestamp)
  /// No job is waiting, or the queue is paused.
  case nothing
}

// The only code that decides which job runs when.
extension Queue {
  /// The next action at the time `now`; O(log n) for each job that the first one requires.
  ///
  /// Only the first waiting job counts: no other overtakes it while it waits for its next attempt.
  package func next(now: Timestamp) -> NextStep {
    guard !isPaused, let job = firstWaiting else { return .nothing }
    if let due = job.run?.due, due > now { return .later(due) }
    if let id = unmetRequirement(of: job) { return .skip(job, because: root(of: id)) }
    return .run(job)
  }

  /// A job that this one requires and that did not succeed; nil if this one may run.
  ///
  /// No required job waits at this time, because ``ordered(_:at:)`` puts it in front; after damage
  /// to the journal, one that does counts as not successful.
  private func unmetRequirement(of job: Job) -> JobID? {
    // The job itself had the last turn if it is edited and queued again.
    if job.limits.ifOK, job.run?.isFree != true, let previous, previous.id != job.id,
      !previous.succeeded
    {
      return previous.id
    }
    return job.requirements.joined().first { self.job($0)?.state != .succeeded }
  }

  /// Whether a runner has work: a job to run, to wait for or to recover, or the on-idle command.
  package var hasWork: Bool {
    !running.isEmpty || (!isPaused && count(.waiting) > 0) || isIdleHookDue
  }

  /// Whether the on-idle command is to be run: a job ran since it last started, and none is left.
  package var isIdleHookDue: Bool {
    settings.onIdle != nil && results.hasRun && running.isEmpty && count(.waiting) == 0
  }

  /// Whether an attempt at the job that starts now gets a terminal.
  ///
  /// Not a job with an input, which it could not read as well.
  package func givesTerminal(to job: Job) -> Bool {
    job.input == nil && (job.terminal != nil || settings.terminal)
  }

  /// The events that follow from a job ending in this state, without the end itself.
  ///
  /// `job` is its state while running. O(1), unless the number of jobs to keep is limited.
  package func consequences(of job: Job, ending state: JobState, at now: Timestamp) -> [Event] {
    guard state.isFailure else { return keepEvents(at: now, ending: 1) }
    let attempts = job.run?.attempt ?? 1
    let used = job.run?.used ?? 0
    if job.isRetried(after: state) {
      let delay = Int64(job.limits.retryDelay) * 1_000_000
      let due = delay > 0 ? Timestamp(microseconds: now.microseconds + delay) : nil
      return [
        .retried(
          Retry(
            id: job.id, at: now, attempts: attempts, used: used + 1, place: .first, due: due,
            isFree: true))
      ]
    }
    let stop = settings.stopsOnFailure && !isPaused ? [Event.paused(at: now, because: job.id)] : []
    return stop + keepEvents(at: now)
  }

  /// Forgets the oldest finished jobs above the limit, except open ones.
  ///
  /// `ending` is the number of jobs about to finish. O(jobs), as ``forget(_:)`` is.
  package func keepEvents(at now: Timestamp, ending: Int = 0) -> [Event] {
    guard let keep = settings.keep else { return [] }
    let count = overCount - openCount
    guard count + ending > keep else { return [] }
    let over = jobs.lazy.filter { $0.state.isOver && !$0.isOpen }.prefix(count)
    let ids = over.ids(excludingLatest: keep - ending)
    return [.forgotten(ids: JobID.ranges(of: ids), at: now)]
  }

  /// The events that cancel waiting jobs and skip the jobs after them that require their success.
  package func cancelEvents(_ ids: [JobID], at now: Timestamp) -> [Event] {
    let cancelled = Set(ids)
    var skipped: Set<JobID> = []
    var events = ids.map { Event.cancelled(id: $0, at: now) }
    for id in ids {
      var next = waiting(after: id)
      while let job = next, job.limits.ifOK, job.run?.isFree != true, !cancelled.contains(job.id),
        skipped.insert(job.id).inserted
      {
        events.append(.skipped(id: job.id, at: now, because: id))
        next = waiting(after: job.id)
      }
    }
    return events
  }

  /// The events that retry jobs in this order.
  ///
  /// A skipped job depends on the previous job again only if that is retried too, and any job on
  /// those it requires only if one of them is not over or is retried too: a retry of the job alone
  /// is unconditional.
  package func retryEvents(_ jobs: [Job], first: Bool, at now: Timestamp) -> [Event] {
    let retried = Set(jobs.map(\.id))
    let events = jobs.enumerated().map { index, job in
      var place = Place.last
      if first { place = index == 0 ? .first : .after(jobs[index - 1].id) }
      let isAwaiting = job.limits.after.lazy.flatMap(self.jobs(in:)).contains { required in
        retried.contains(required.id) || !required.state.isOver
      }
      let isFree = index == 0 || job.state != .skipped || !job.limits.ifOK
      return Event.retried(
        Retry(
          id: job.id, at: now, attempts: job.run?.attempt ?? 0, place: place,
          isFree: isFree && !isAwaiting))
    }
    return ordered(events, at: now)
  }

  /// The events that change a waiting job, or change a finished one and queue it again.
  ///
  /// `checks` is whether conditions were given, which then apply to the next attempt.
  package func editEvents(
    _ job: Job, _ command: Command, _ options: EditedOptions?, checks: Bool, at now: Timestamp
  ) -> [Event] {
    let retry = job.state.isOver ? retryEvents([job], first: false, at: now) : []
    var options = options
    if !checks {
      options?.isFree =
        if case .retried(let retry)? = retry.first { retry.isFree } else {
          job.run?.isFree ?? false
        }
    }
    let edit = Event.edited(id: job.id, at: now, command: command, options: options)
    return ordered(retry + [edit], at: now)
  }

  /// These events, and those that then put each waiting job behind the waiting ones it requires.
  ///
  /// Otherwise keeps the order: a job that stands before one of them moves directly behind it, as if
  /// its turn had passed. Requirements have lower ids, so they have no cycle. O(n log n).
  package func ordered(_ events: [Event], at now: Timestamp) -> [Event] {
    guard misplaced(by: events) != nil else { return events }
    let queue = applying(events)
    var moves: [Event] = []
    var unplaced = UnplacedJobs(of: queue)
    var held: [JobID: [Job]] = [:]
    var last: JobID?
    for job in queue.waiting {
      // The next one last.
      var ready = [job]
      while let next = ready.popLast() {
        if let id = unplaced.last(in: next.requirements) {
          held[id, default: []].append(next)
          continue
        }
        if next.id != job.id, let last {
          moves.append(.moved(id: next.id, at: now, place: .after(last)))
        }
        unplaced.place(next.id)
        last = next.id
        if let released = held.removeValue(forKey: next.id) { ready += released.reversed() }
      }
    }
    return events + moves
  }

  /// The first waiting job that these events leave before a job it requires, and that job.
  ///
  /// O(n log n).
  package func misplaced(by events: [Event]) -> (job: JobID, required: JobID)? {
    let queue = applying(events)
    guard queue.waiting.contains(where: { !$0.requirements.isEmpty }) else { return nil }
    var unplaced = UnplacedJobs(of: queue)
    for job in queue.waiting {
      if let id = unplaced.last(in: job.requirements) { return (job.id, id) }
      unplaced.place(job.id)
    }
    return nil
  }

  private func applying(_ events: [Event]) -> Queue {
    var queue = self
    for event in events { queue.apply(event) }
    return queue
  }

  /// The existing jobs in this range.
  func jobs(in range: ClosedRange<JobID>) -> ArraySlice<Job> {
    jobs[Queue.place(of: range.lowerBound, in: jobs)...].prefix { range.contains($0.id) }
  }

  /// The job that caused this one to be skipped, or the job itself.
  private func root(of id: JobID) -> JobID { job(id)?.run?.because ?? id }
}

extension Job {
  /// Whether the runner retries the job after an attempt that ended in this state.
  package func isRetried(after state: JobState) -> Bool {
    state.isFailure && run?.used ?? 0 < limits.retries
  }
}

extension Sequence<Job> {
  /// The ids, ascending, of all but the `count` jobs that finished last; O(n log n), or O(n) if
  /// sorted.
  ///
  /// The order of ids is that of adding: a moved or retried job finishes out of order.
  package func ids(excludingLatest count: Int) -> [JobID] {
    let ends = map { (date: $0.overSince, id: $0.id) }.sorted {
      ($0.date, $0.id) < ($1.date, $1.id)
    }
    return ends.dropLast(count).map(\.id).sorted()
  }
}

extension [ClosedRange<JobID>] {
  /// Adds an id above all others.
  mutating func append(next id: JobID) {
    if let last, last.upperBound + 1 == id {
      self[count - 1] = last.lowerBound...id
    } else {
      append(id...id)
    }
  }

  /// The ids without these.
  func subtracting(_ others: Self) -> Self {
    others.reduce(self) { rest, other in
      rest.flatMap { range -> Self in
        guard range.overlaps(other) else { return [range] }
        var parts: Self = []
        if range.lowerBound < other.lowerBound {
          parts.append(range.lowerBound...other.lowerBound - 1)
        }
        if range.upperBound > other.upperBound {
          parts.append(other.upperBound + 1...range.upperBound)
        }
        return parts
      }
    }
  }
}

extension JobID {
  /// Converts ascending ids to ranges.
  package static func ranges(of ids: some Sequence<JobID>) -> [ClosedRange<JobID>] {
    var ranges: [ClosedRange<JobID>] = []
    forEachRange(of: ids) { ranges.append($0...$1) }
    return ranges
  }

  /// Formats ascending ids: `3-7, 9`.
  ///
  /// Avoids an array of ranges: every `add` prints ids, and the first use of a generic type costs
  /// as much as everything that `add` does before its write.
  package static func text(of ids: [JobID], separator: String) -> String {
    var text = ""
    forEachRange(of: ids) { first, last in
      if !text.isEmpty { text += separator }
      text += first == last ? "\(first)" : "\(first)-\(last)"
    }
    return text
  }

  private static func forEachRange(
    of ids: some Sequence<JobID>, _ body: (_ first: JobID, _ last: JobID) -> Void
  ) {
    var range: (first: JobID, last: JobID)?
    for id in ids {
      if let (first, last) = range {
        guard last + 1 != id else {
          range = (first, id)
          continue
        }
        body(first, last)
      }
      range = (id, id)
    }
    if let (first, last) = range { body(first, last) }
  }
}
