import SerialqSystem

/// Changes of a queue that are not written yet, and the queue after them.
package struct QueueChanges {
  package private(set) var queue: Queue
  package private(set) var entries: [Entry] = []

  package init(_ queue: Queue, _ entries: [Entry] = []) {
    self.queue = queue
    for entry in entries { append(entry) }
  }

  package mutating func append(_ entry: Entry) {
    queue.apply(entry)
    entries.append(entry)
  }

  /// Changes how a job is, if the change applies.
  package mutating func change(_ id: JobID, _ change: (JobStatus) -> JobStatus?) {
    if let status = queue.job(id).flatMap({ change($0.status) }) { append(.status(id, status)) }
  }

  /// Puts jobs next to each other, the first at this place.
  package mutating func move(_ ids: [JobID], to place: Place) {
    forEach(ids, from: place) { changes, id, rank in changes.change(id) { $0.moved(to: rank) } }
  }

  private mutating func forEach(
    _ ids: [JobID], from place: Place, _ put: (inout QueueChanges, JobID, Rank) -> Void
  ) {
    var place = place
    for id in ids {
      guard let rank = queue.rank(place) else { return }
      put(&self, id, rank)
      if place != .last { place = .after(id) }
    }
  }

  /// Cancels waiting jobs and skips the jobs after them that require their success.
  package mutating func cancel(_ ids: [JobID], at now: Timestamp) {
    let before = queue
    for id in ids { change(id) { $0.left(.cancelled, at: now) } }
    for id in ids {
      var next = before.waiting(after: id)
      while let job = next, job.needsPrevious, queue.job(job.id)?.state == .waiting {
        change(job.id) { $0.left(.skipped(because: id), at: now) }
        next = before.waiting(after: job.id)
      }
    }
    // The skipped jobs had no turn: jobs in front of them, with conditions of their own, may still
    // wait.
    setPrevious(before.properties.previous)
  }

  private mutating func setPrevious(_ previous: QueueProperties.Previous?) {
    var properties = queue.properties
    properties.previous = previous
    if properties != queue.properties { append(.queue(properties)) }
  }

  /// Queues finished jobs again, in this order; see ``Queue/withSkipped(_:)``.
  ///
  /// A skipped job depends on the previous job again only if that is retried too, and any job on
  /// those it requires only if one of them is not over or is retried too: a retry of the job alone
  /// is unconditional.
  package mutating func retry(_ jobs: [Job], first isFirst: Bool) {
    let (retried, before) = (Set(jobs.map(\.id)), queue)
    func requires(_ job: Job, _ isSuch: (Job) -> Bool) -> Bool {
      job.limits.after.lazy.flatMap(before.jobs(in:)).contains(where: isSuch)
    }
    // Not the first in `jobs`, which may be put in order behind another one.
    let first = jobs.first { job in !requires(job) { retried.contains($0.id) } }
    forEach(jobs.map(\.id), from: isFirst ? .first : .last) { changes, id, rank in
      guard let job = before.job(id) else { return }
      let isFree = id == first?.id || job.state != .skipped || !job.limits.ifOK
      let isAwaiting = requires(job) { retried.contains($0.id) || !$0.state.isOver }
      changes.change(id) { $0.retried(rank, isFree: isFree && !isAwaiting) }
      // Otherwise a job could be skipped because of one that was skipped because of it.
      if id == before.properties.previous?.id, let cause = job.skippedBecause {
        changes.setPrevious(QueueProperties.Previous(id: cause, succeeded: false))
      }
    }
    putInOrder()
  }

  /// Changes what a waiting job is asked to do.
  ///
  /// `checks` is whether conditions were given, which then apply to the next attempt.
  package mutating func edit(_ id: JobID, to spec: JobSpec, checks: Bool) {
    append(.job(id, spec))
    if checks { change(id) { $0.freed(false) } }
    putInOrder()
  }

  /// Puts each waiting job behind the waiting ones it requires.
  ///
  /// Otherwise keeps the order: a job that stands before one of them moves behind it, and behind
  /// the jobs that check its result by `--if-ok`, as if its turn had passed. Requirements have
  /// lower ids, so they have no cycle. O(n log n), unless jobs become ready one by one while many
  /// are.
  package mutating func putInOrder() {
    guard queue.misplaced != nil else { return }
    var unplaced = UnplacedJobs(of: queue)
    var held: [JobID: [(place: Int, job: Job)]] = [:]
    var last: JobID?
    // Jobs whose requirements are placed; the next one last.
    var ready: [(place: Int, job: Job)] = []
    for (place, job) in Array(queue.waiting).enumerated() {
      ready.append((place, job))
      // A job that checks the previous one stays behind that: no released job comes between them.
      let stays = queue.waiting(after: job.id)?.needsPrevious == true
      while let next = ready.last, next.place == place || !stays {
        ready.removeLast()
        if let id = unplaced.last(in: next.job.requirements) {
          held[id, default: []].append(next)
          continue
        }
        if next.place != place, let last { move([next.job.id], to: .after(last)) }
        unplaced.place(next.job.id)
        last = next.job.id
        guard let released = held.removeValue(forKey: next.job.id) else { continue }
        ready = (ready + released).sorted { $0.place > $1.place }
      }
    }
  }
}
