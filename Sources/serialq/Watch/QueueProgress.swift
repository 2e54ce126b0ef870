import SerialqQueue
import SerialqSystem

/// The progress of a queue since it was last idle, and an estimate of the remaining time.
///
/// Ignores older history: in a queue with 1,000 finished jobs, progress on three new ones must be
/// visible. A finished job counts if another counted job was queued when it ended, so that the
/// counted jobs form a period without gaps.
package struct QueueProgress {
  package private(set) var bar = ProgressBar.empty
  /// Of an idle queue: the first start, if a job ran, and the last end since it was idle before.
  package private(set) var finished: (start: Timestamp?, end: Timestamp)?
  private var estimate = DurationEstimate([])
  private var waitingLeft: Duration?
  /// The change counts that the totals and the estimate are based on.
  private var counted = 0
  private var estimatedChanges = 0
  /// The monotonic clock at the last estimate.
  private var estimatedAt: Int64

  /// Counts the jobs and estimates their durations; O(jobs).
  package init(_ queue: Queue, at now: Int64 = Clock.monotonic()) {
    estimatedAt = now
    count(queue)
    estimate(queue)
  }

  /// Updates for a queue with this change count; O(1) if it is unchanged.
  ///
  /// Estimates at most once a second: with many short jobs, estimating would cost as much as
  /// running them.
  package mutating func update(_ queue: Queue, changes: Int, at now: Int64 = Clock.monotonic()) {
    if changes != counted {
      counted = changes
      count(queue)
    }
    if changes != estimatedChanges, now - estimatedAt >= 1_000_000_000 {
      estimatedChanges = changes
      estimatedAt = now
      estimate(queue)
    }
  }

  /// Recounts the jobs; O(jobs).
  private mutating func count(_ queue: Queue) {
    let active = queue.jobs.lazy.filter { !$0.state.isOver }
    var since = active.compactMap(\.batchStart).min()
    if active.isEmpty { since = queue.jobs.lazy.compactMap { $0.ended }.max() }
    var over = 0
    var failed = 0
    finished = nil
    // Usually two passes; more if a moved job was queued earlier than the jobs behind it.
    while let start = since {
      let members = queue.jobs.lazy.filter { job in
        job.state.isOver && job.ended.map { $0 >= start } ?? false
      }
      over = 0
      failed = 0
      if active.isEmpty, let end = members.compactMap(\.ended).max() {
        finished = (members.compactMap(\.started).min(), end)
      }
      for job in members {
        over += 1
        if job.state.isFailure { failed += 1 }
        since = min(since ?? start, job.batchStart ?? start)
      }
      if since == start { break }
    }
    bar = ProgressBar(
      over: over, failed: failed, running: queue.running.count, waiting: queue.count(.waiting))
  }

  /// Estimates the durations of jobs; O(jobs).
  private mutating func estimate(_ queue: Queue) {
    estimate = DurationEstimate(queue.jobs)
    waitingLeft = estimate.left(running: [], waiting: queue.waiting)
  }

  /// The estimated total duration of a job; nil if nothing is known.
  package func expected(_ job: Job) -> Duration? { estimate.duration(of: job) }

  /// The estimated time until all running and waiting jobs are done; nil if nothing is known.
  ///
  /// Nil while a job is suspended or waits for its retry.
  package func left(_ queue: Queue) -> Duration? {
    guard queue.suspended.isEmpty, queue.firstWaiting?.waiting?.due == nil else { return nil }
    let running = queue.running.compactMap(queue.job)
    guard queue.count(.waiting) > 0 else { return estimate.left(running: running, waiting: []) }
    guard let waitingLeft else { return nil }
    return waitingLeft + (estimate.left(running: running, waiting: []) ?? .zero)
  }
}

extension Job {
  /// When the job was queued.
  ///
  /// A job does not keep the date of a retry by a command. So this is the start of the retried
  /// attempt, and nil while it waits.
  fileprivate var batchStart: Timestamp? { isAgain ? started : added }
}
