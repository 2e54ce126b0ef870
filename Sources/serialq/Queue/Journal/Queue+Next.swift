import SerialqSystem

/// The next action of a runner.
package enum NextStep: Equatable {
  case run(Job)
  /// The previous job did not succeed; `because` is the failure at the start of the chain.
  case skip(Job, because: JobID)
  /// The first waiting job must not start before this date.
  case later(Timestamp)
  /// No job is waiting, or the queue is paused.
  case nothing
}

// The only code that decides which job runs when.
extension Queue {
  /// The next action at the time `now`; O(1).
  ///
  /// Only the first waiting job counts: no other overtakes it while it waits for its next attempt.
  package func next(now: Timestamp) -> NextStep {
    guard !isPaused, let job = firstWaiting else { return .nothing }
    if let due = job.run?.due, due > now { return .later(due) }
    if job.limits.ifOK, job.run?.isFree != true, let previous, !previous.succeeded {
      return .skip(job, because: root(of: previous.id))
    }
    return .run(job)
  }

  /// Whether a runner has work: a job to run, to wait for or to recover.
  package var hasWork: Bool { !running.isEmpty || (!isPaused && count(.waiting) > 0) }

  /// The events that follow from a job ending in this state, without the end itself.
  ///
  /// `job` is its state while running. O(1), unless the number of jobs to keep is limited.
  package func consequences(of job: Job, ending state: JobState, at now: Timestamp) -> [Event] {
    guard state.isFailure else { return keepEvents(at: now, ending: 1) }
    let attempts = job.run?.attempt ?? 1
    let used = job.run?.used ?? 0
    if used < job.limits.retries {
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

  /// Forgets the oldest finished jobs above the limit, except unacknowledged failures.
  ///
  /// `ending` is the number of jobs about to finish. O(jobs), as ``forget(_:)`` is.
  func keepEvents(at now: Timestamp, ending: Int = 0) -> [Event] {
    guard let keep = settings.keep else { return [] }
    let count = overCount - openFailureCount
    guard count + ending > keep else { return [] }
    let over = jobs.lazy.filter { $0.state.isOver && !$0.isOpenFailure }.prefix(count)
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

  /// The unacknowledged failures and the jobs skipped because of them, by id.
  package var openFailuresAndSkipped: [Job] {
    guard openFailureCount > 0 else { return [] }
    return jobs.filter { job in
      if job.isOpenFailure { return true }
      guard job.state == .skipped, let because = job.run?.because else { return false }
      return self.job(because)?.isOpenFailure == true
    }
  }

  /// The events that retry jobs in this order.
  ///
  /// A skipped job depends on the previous job again only if that is retried too: a retry of the
  /// skipped job alone is unconditional.
  package static func retryEvents(_ jobs: [Job], first: Bool, at now: Timestamp) -> [Event] {
    jobs.enumerated().map { index, job in
      var place = Place.last
      if first { place = index == 0 ? .first : .after(jobs[index - 1].id) }
      return .retried(
        Retry(
          id: job.id, at: now, attempts: job.run?.attempt ?? 0, place: place,
          isFree: index == 0 || job.state != .skipped))
    }
  }

  /// The job that caused this one to be skipped, or the job itself.
  private func root(of id: JobID) -> JobID { job(id)?.run?.because ?? id }
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
