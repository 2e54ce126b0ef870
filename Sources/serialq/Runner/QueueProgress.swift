import SerialqQueue
import SerialqSystem

/// How far a queue has come since it was last idle, and how long the rest will take.
///
/// Not over all of its history: of a queue with a thousand finished jobs, three new ones are to be
/// seen coming on. A job counts if, when it ended, there was another that still counts: the jobs
/// from when they were queued until they ended form one stretch of time without a gap.
package struct QueueProgress {
  package private(set) var bar = ProgressBar(over: 0, failed: 0, running: 0, waiting: 0)
  private var guess = DurationGuess([])
  private var waitingLeft: Duration?
  /// The changes of the queue that have been counted, and that the guess knows of.
  private var counted = 0
  private var guessedOf = 0
  /// When that was, by the monotonic clock.
  private var guessed: Int64

  /// O(jobs).
  package init(_ queue: Queue, at now: Int64 = Clock.monotonic()) {
    guessed = now
    count(queue)
    guess(queue)
  }

  /// Takes note of a queue that has changed so many times; O(1) if that is no news.
  ///
  /// Guesses no oftener than once a second: with many short jobs it would cost as much as they do.
  package mutating func update(_ queue: Queue, changes: Int, at now: Int64 = Clock.monotonic()) {
    if changes != counted {
      counted = changes
      count(queue)
    }
    if changes != guessedOf, now - guessed >= 1_000_000_000 {
      guessedOf = changes
      guessed = now
      guess(queue)
    }
  }

  /// Counts anew; O(jobs).
  private mutating func count(_ queue: Queue) {
    let active = queue.jobs.lazy.filter { !$0.state.isOver }
    var since = active.compactMap(\.batchStart).min()
    if active.isEmpty { since = queue.jobs.lazy.compactMap { $0.run?.ended }.max() }
    var over = 0
    var failed = 0
    // Mostly once and once more: jobs that were moved can reach back further than those behind them.
    while let start = since {
      let members = queue.jobs.lazy.filter { job in
        job.state.isOver && job.run?.ended.map { $0 >= start } ?? false
      }
      over = 0
      failed = 0
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

  /// Guesses anew how long jobs take; O(jobs).
  private mutating func guess(_ queue: Queue) {
    guess = DurationGuess(queue.jobs)
    waitingLeft = guess.left(running: [], waiting: queue.waiting)
  }

  /// How long a job will take in all; nil when nothing is known.
  package func expected(_ job: Job) -> Duration? { guess.duration(of: job) }

  /// How long all that runs and waits will still take; nil when nothing is known.
  package func left(_ queue: Queue) -> Duration? {
    let running = queue.running.compactMap(queue.job)
    guard queue.count(.waiting) > 0 else { return guess.left(running: running, waiting: []) }
    guard let waitingLeft else { return nil }
    return waitingLeft + (guess.left(running: running, waiting: []) ?? .zero)
  }
}

extension Job {
  /// When it was queued; nil when it was queued again since, nobody wrote down when.
  fileprivate var batchStart: Timestamp? {
    guard let run, run.attempt > 1 || state == .waiting else { return added }
    return run.started
  }
}
