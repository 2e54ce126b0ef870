import SerialqQueue
import SerialqSystem

/// The data of a timeline: one row per job on a common time scale.
struct Timeline: Equatable {
  struct Row: Equatable {
    var job: Job
    /// In order; empty if the job has not run.
    var attempts: [Attempt]
    /// The positions of its attempts.
    var bars: [Bar]
  }

  struct Bar: Equatable {
    var attempt: Attempt
    var from: Double
    var to: Double
  }

  /// By id, followed by waiting jobs in the order of running.
  private(set) var rows: [Row]
  private(set) var scale: TimeScale
  /// The number of earlier jobs that are not drawn.
  private(set) var earlier: Int
  /// The number of waiting jobs that are not drawn.
  private(set) var later: Int

  /// Limited, because waiting jobs have no times.
  private static let mostWaiting = 5

  /// Shows the last `count` jobs that are not waiting, and the next waiting ones; O(n log n).
  init(_ queue: Queue, _ attempts: EarlierAttempts, at now: ClockReading, last count: Int) {
    // The latest are drawn: by the last start, else the end or the date of adding.
    let begun = queue.jobs.filter { $0.state != .waiting }.map { ($0, $0.started ?? $0.overSince) }
      .sorted { one, other in
        // Running jobs come last, even if the clock was set back.
        let isRunning = (one.0.state == .running, other.0.state == .running)
        if isRunning.0 != isRunning.1 { return isRunning.1 }
        return (one.1, one.0.id) < (other.1, other.0.id)
      }.map(\.0)
    let waiting = Array(queue.waiting.prefix(Self.mostWaiting))
    earlier = max(0, begun.count - count)
    later = queue.count(.waiting) - waiting.count
    let drawn = (begun.suffix(count).sorted { $0.id < $1.id } + waiting).map {
      ($0, attempts.all(of: $0, at: now))
    }
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

  /// The states for the legend, in order.
  var states: [JobState] {
    let used = rows.flatMap { [$0.job.state] + $0.attempts.map(\.state) }
    return JobState.allCases.filter(used.contains)
  }
}
