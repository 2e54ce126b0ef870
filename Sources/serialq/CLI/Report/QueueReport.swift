import SerialqQueue
import SerialqSystem

/// A report on a queue: timeline and failures.
///
/// Pure: collects what a page or a terminal shows. The output is bounded, the totals are complete.
struct QueueReport {
  /// The default number of rows.
  static let rowsOnTerminal = 50
  static let rowsOnPage = 200
  /// The limits for failures.
  static let mostTroubles = 50
  static let troubleLines = 20
  static let troubleBytes = 4_096

  /// A failed job and the end of its output.
  struct Trouble {
    var job: Job
    var tail: [String]
  }

  var queue: String
  var made: Timestamp
  var pause: QueueProperties.Pause?
  /// The number of jobs in each state that occurs.
  var counts: [(state: JobState, count: Int)]
  var jobs: Int
  /// From the first start to the last end, or to now if a job is running.
  var period: (start: Timestamp, end: Timestamp)?
  /// The total duration of all jobs.
  var work: Duration = .zero
  /// The number of attempts after the first of each job.
  var retries = 0
  var longest: (job: JobID, duration: Duration)?
  var timeline: Timeline
  var troubles: [Trouble] = []

  init(
    _ name: String, _ queue: Queue, _ attempts: EarlierAttempts, at now: ClockReading,
    last count: Int
  ) {
    self.queue = name
    made = now.date
    pause = queue.properties.pause
    jobs = queue.jobs.count
    counts = JobState.allCases.map { ($0, queue.count($0)) }.filter { $0.1 > 0 }
    timeline = Timeline(queue, attempts, at: now, last: count)
    for job in queue.jobs { add(attempts.all(of: job, at: now), of: job) }
  }

  private mutating func add(_ attempts: [Attempt], of job: Job) {
    retries += max(0, job.attempts - 1)
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

  var failures: Int { counts.reduce(0) { $1.state.isFailure ? $0 + $1.count : $0 } }
}
