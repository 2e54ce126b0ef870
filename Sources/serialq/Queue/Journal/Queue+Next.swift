import SerialqSystem

/// The next action of a runner.
package enum NextStep: Equatable {
  case run(Job)
  /// A required job did not succeed; `because` is the failure at the start of the chain.
  case skip(Job, because: JobID)
  /// The first waiting job must not start before this time of the monotonic clock.
  case later(Int64)
  /// No job is waiting, or the queue is paused.
  case nothing
}

// The only code that decides which job runs when.
extension Queue {
  /// The next action; O(log n) for each job that the first one requires.
  ///
  /// Only the first waiting job counts: no other overtakes it while it waits for its next attempt.
  package func next(now: ClockReading) -> NextStep {
    guard !isPaused, let job = firstWaiting else { return .nothing }
    let delay = job.delay(now)
    if delay > 0 { return .later(now.monotonic + delay) }
    if let id = unmetRequirement(of: job) { return .skip(job, because: root(of: id)) }
    return .run(job)
  }

  /// A job that this one requires and that did not succeed; nil if this one may run.
  ///
  /// No required job waits at this time, because ``QueueChanges/putInOrder()`` puts it in front;
  /// after damage to the journal, one that does counts as not successful.
  private func unmetRequirement(of job: Job) -> JobID? {
    // The job itself had the last turn, or was the cause of a skip, if it is edited and queued
    // again.
    if job.needsPrevious, let last = properties.previous, !last.succeeded,
      root(of: last.id) != job.id
    {
      return last.id
    }
    return job.requirements.joined().first { self.job($0)?.state != .succeeded }
  }

  /// Whether a runner has work: a job to run, to wait for or to recover, or the on-idle command.
  package var hasWork: Bool {
    !running.isEmpty || (!isPaused && count(.waiting) > 0) || isIdleHookDue
  }

  /// Whether the on-idle command is to be run: a job ran since it last started, and none is left.
  package var isIdleHookDue: Bool {
    settings.onIdle != nil && properties.results.hasRun && running.isEmpty && count(.waiting) == 0
  }

  /// Whether an attempt at the job that starts now gets a terminal.
  ///
  /// Not a job with an input, which it could not read as well.
  package func givesTerminal(to job: Job) -> Bool {
    job.input == nil && (job.terminal != nil || settings.terminal)
  }

  /// The end of a running job, and what follows from it.
  ///
  /// `job` is its state while running. O(1), unless the number of jobs to keep is limited.
  package func end(of job: Job, _ over: JobStatus, at now: ClockReading) -> [Entry] {
    let end = Entry.status(job.id, over)
    guard over.state.isFailure else { return [end] + forgetting(ending: 1) }
    if job.isRetried(after: over.state), let rank = rank(.first) {
      let due = job.limits.retryDelay > 0 ? now.adding(seconds: job.limits.retryDelay) : nil
      let again = over.retried(rank, due: due, isFree: true, isAutomatic: true)
      return [end] + [again].compactMap { $0.map { .status(job.id, $0) } }
    }
    guard settings.stopsOnFailure, !isPaused else { return [end] + forgetting() }
    var (properties, ended) = (paused(at: now.date, because: job.id), job)
    // This line follows the line of the end, so the end is counted.
    ended.status = over
    properties.count(job, ended)
    return [end, .queue(properties)] + forgetting()
  }

  /// What the queue remembers once it is paused.
  package func paused(at now: Timestamp, because job: JobID? = nil) -> QueueProperties {
    var properties = properties
    properties.pause = QueueProperties.Pause(at: now, because: job)
    return properties
  }

  /// Forgets the oldest finished jobs above the limit, except open ones.
  ///
  /// `ending` is the number of jobs about to finish. O(jobs), as ``forget(_:)`` is.
  package func forgetting(ending: Int = 0) -> [Entry] {
    guard let keep = settings.keep else { return [] }
    let count = overCount - openCount
    guard count + ending > keep else { return [] }
    let over = jobs.lazy.filter { $0.state.isOver && !$0.isOpen }.prefix(count)
    let ids = over.ids(excludingLatest: keep - ending)
    return [.forgotten(JobID.ranges(of: ids))]
  }

  /// The first waiting job that stands before a job it requires, and that job; O(n log n).
  package var misplaced: (job: JobID, required: JobID)? {
    guard waiting.contains(where: { !$0.requirements.isEmpty }) else { return nil }
    var unplaced = UnplacedJobs(of: self)
    for job in waiting {
      if let id = unplaced.last(in: job.requirements) { return (job.id, id) }
      unplaced.place(job.id)
    }
    return nil
  }

  /// Finished jobs, and behind each the open ones that were skipped because of it, in their order.
  package func withSkipped(_ jobs: [Job]) -> [Job] {
    var followed = Dictionary(jobs.map { ($0.id, $0.id) }, uniquingKeysWith: { id, _ in id })
    var followers: [JobID: [Job]] = [:]
    for job in openJobs where job.state == .skipped && followed[job.id] == nil {
      let unmet = job.limits.after.lazy.flatMap(self.jobs(in:)).filter { $0.state != .succeeded }
      let causes = [job.skippedBecause].compactMap(\.self) + unmet.map(\.id)
      guard let id = causes.lazy.compactMap({ followed[$0] }).first else { continue }
      followed[job.id] = id
      followers[id, default: []].append(job)
    }
    return jobs.flatMap { job in
      [job] + (followers[job.id] ?? []).sorted { ($0.overSince, $0.id) < ($1.overSince, $1.id) }
    }
  }

  /// The existing jobs in this range.
  package func jobs(in range: ClosedRange<JobID>) -> ArraySlice<Job> {
    jobs[Queue.place(of: range.lowerBound, in: jobs)...].prefix { range.contains($0.id) }
  }

  /// The job that caused this one to be skipped, or the job itself.
  private func root(of id: JobID) -> JobID { job(id)?.skippedBecause ?? id }
}

extension Job {
  /// Whether the runner retries the job after an attempt that ended in this state.
  package func isRetried(after state: JobState) -> Bool {
    state.isFailure && retriesUsed < limits.retries
  }
}

extension Sequence<Job> {
  /// The ids, ascending, of all but the `count` jobs that finished last; O(n log n), or O(n) if
  /// sorted.
  ///
  /// Ids are in the order of adding, and a moved or retried job finishes out of that order.
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
