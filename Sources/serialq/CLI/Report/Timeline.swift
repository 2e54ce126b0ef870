import SerialqQueue
import SerialqSystem

/// When the jobs of a queue ran, as it is drawn: a row a job, along one scale of time.
struct Timeline: Equatable {
  struct Row: Equatable {
    var job: Job
    /// The latest last; none if it has not run.
    var attempts: [Attempt]
    /// Where its attempts are drawn.
    var bars: [Bar]
  }

  struct Bar: Equatable {
    var attempt: Attempt
    var from: Double
    var to: Double
  }

  /// In the order in which they ran last; then those that wait, in the order in which they will.
  private(set) var rows: [Row]
  private(set) var scale: TimeScale
  /// How many have run, or are over, and are not drawn: those before.
  private(set) var earlier: Int
  /// How many wait and are not drawn: those after.
  private(set) var later: Int

  /// More that only wait say nothing about time.
  private static let mostWaiting = 5

  /// The last `count` jobs that do not wait, and the next of those that do.
  ///
  /// O(n log n).
  init(_ queue: Queue, _ attempts: EarlierAttempts, at now: ClockReading, last count: Int) {
    let begun = queue.jobs.filter { $0.state != .waiting }.map { ($0, $0.latestMoment) }
      .sorted { one, other in
        // What runs is last, whatever the clock was set to meanwhile.
        let isRunning = (one.0.state == .running, other.0.state == .running)
        if isRunning.0 != isRunning.1 { return isRunning.1 }
        return (one.1, one.0.id) < (other.1, other.0.id)
      }.map(\.0)
    let waiting = Array(queue.waiting.prefix(Self.mostWaiting))
    earlier = max(0, begun.count - count)
    later = queue.count(.waiting) - waiting.count
    let drawn = (begun.suffix(count) + waiting).map { ($0, attempts.all(of: $0, at: now)) }
    let scale = TimeScale(drawn.flatMap(\.1))
    self.scale = scale
    rows = drawn.map { job, attempts in
      let bars = attempts.map { attempt in
        Bar(
          attempt: attempt, from: scale.place(of: attempt.start), to: scale.place(of: attempt.end))
      }
      return Row(job: job, attempts: attempts, bars: bars)
    }
  }

  /// The states that are to be explained, in the order of their kind.
  var states: [JobState] {
    let used = rows.flatMap { [$0.job.state] + $0.attempts.map(\.state) }
    return JobState.allCases.filter(used.contains)
  }
}

extension Job {
  /// When it started last or, as it never did, ended or was added.
  fileprivate var latestMoment: Timestamp { run?.started ?? run?.ended ?? added }
}
