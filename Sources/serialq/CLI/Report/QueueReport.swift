import SerialqQueue
import SerialqSystem

/// What became of a queue: its timeline, how long jobs took, and what failed.
///
/// Pure: from what is known to what is drawn, on a page or on a terminal. What is drawn is bounded,
/// what is counted is not.
struct QueueReport {
  /// As many jobs as are drawn if nobody says how many.
  static let rowsOnTerminal = 50
  static let rowsOnPage = 200
  /// What of the failures is shown.
  static let mostTroubles = 50
  static let troubleLines = 20
  static let troubleBytes = 4_096

  /// A job that failed, and the end of its output.
  struct Trouble {
    var job: Job
    var tail: [String]
  }

  var queue: String
  var made: Timestamp
  var pause: Queue.Pause?
  /// How many jobs are in each state that any is in.
  var counts: [(state: JobState, count: Int)]
  var jobs: Int
  /// When the first started, and when the last ended or is still running.
  var period: (start: Timestamp, end: Timestamp)?
  /// How long jobs ran in all.
  var work: Duration = .zero
  /// How many attempts there were beyond the first of each job.
  var retries = 0
  var longest: (job: JobID, duration: Duration)?
  var timeline: Timeline
  /// Of the page alone.
  var series: [DurationSeries] = []
  var troubles: [Trouble] = []

  init(
    _ name: String, _ queue: Queue, _ attempts: EarlierAttempts, at now: ClockReading,
    last count: Int
  ) {
    self.queue = name
    made = now.date
    pause = queue.pause
    jobs = queue.jobs.count
    counts = JobState.allCases.map { ($0, queue.count($0)) }.filter { $0.1 > 0 }
    timeline = Timeline(queue, attempts, at: now, last: count)
    for job in queue.jobs { add(attempts.all(of: job, at: now), of: job) }
  }

  private mutating func add(_ attempts: [Attempt], of job: Job) {
    retries += max(0, (job.run?.attempt ?? 0) - 1)
    for attempt in attempts {
      period = (
        min(period?.start ?? attempt.start, attempt.start),
        max(period?.end ?? attempt.end, attempt.end)
      )
      guard let duration = attempt.duration else { continue }
      work += duration
      if duration > longest?.duration ?? .zero { longest = (job.id, duration) }
    }
  }

  /// How many failed, in whatever way.
  var failures: Int { counts.reduce(0) { $1.state.isFailure ? $0 + $1.count : $0 } }

  /// The option with which advice names the queue.
  var option: String { QueueName.option(for: queue) }
}
