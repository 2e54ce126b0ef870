import SerialqSystem

/// What a runner is to do next.
package enum NextStep: Equatable {
  case run(Job)
  /// The job before it did not succeed, in the end because of that one.
  case skip(Job, because: JobID)
  /// The first job that waits is not to be started before.
  case later(Timestamp)
  /// Nothing waits, or the queue is paused.
  case nothing
}

// The one place that decides what runs when.
extension Queue {
  /// What is to be done next, `now`; O(1).
  ///
  /// The first waiting job decides alone: none overtakes it while it waits for its next attempt.
  package func next(now: Timestamp) -> NextStep {
    guard !isPaused, let job = firstWaiting else { return .nothing }
    if let due = job.run?.due, due > now { return .later(due) }
    if job.limits.ifOK, job.run?.isFree != true, let previous, !previous.succeeded {
      return .skip(job, because: root(of: previous.id))
    }
    return .run(job)
  }

  /// Whether a runner would have something to do: a job to run, to wait for or to find out about.
  package var hasWork: Bool { !running.isEmpty || (!isPaused && count(.waiting) > 0) }

  /// What follows from the end of a job in this state, beside the end itself.
  ///
  /// `job` is as it was while it ran. O(1), unless the number of jobs to keep is limited.
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

  /// Forgets the jobs that are too many, those that were over first, but no failure that nobody has taken
  /// note of.
  ///
  /// `ending` is how many jobs are about to be over as well. O(jobs), as ``forget(_:)`` is then.
  func keepEvents(at now: Timestamp, ending: Int = 0) -> [Event] {
    guard let keep = settings.keep else { return [] }
    let count = overCount - openFailureCount
    guard count + ending > keep else { return [] }
    let over = jobs.lazy.filter { $0.state.isOver && !$0.isOpenFailure }.prefix(count)
    let ids = over.ids(butOverLast: keep - ending)
    return [.forgotten(ids: JobID.ranges(of: ids), at: now)]
  }

  /// What it takes to cancel jobs that wait: those after them that asked for their success are
  /// skipped.
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

  /// The job for which a job was skipped, or it itself.
  private func root(of id: JobID) -> JobID { job(id)?.run?.because ?? id }
}

extension Sequence<Job> {
  /// The ids, ascending, of all but the `count` jobs that were over last; O(n log n), O(n) if they were over
  /// in their order.
  ///
  /// An id says when a job was added: one that was moved, or retried, is over after others.
  package func ids(butOverLast count: Int) -> [JobID] {
    let ends = map { (date: $0.overSince, id: $0.id) }.sorted {
      ($0.date, $0.id) < ($1.date, $1.id)
    }
    return ends.dropLast(count).map(\.id).sorted()
  }
}

extension JobID {
  /// Ascending ids as ranges.
  package static func ranges(of ids: some Sequence<JobID>) -> [ClosedRange<JobID>] {
    var ranges: [ClosedRange<JobID>] = []
    forEachRange(of: ids) { ranges.append($0...$1) }
    return ranges
  }

  /// Ascending ids as people write them: `3-7, 9`.
  ///
  /// Every `add` prints one, and a generic type that is used for the first time costs it as much as
  /// everything it does before it writes: hence no array of ranges.
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
