import SerialqQueue
import SerialqSystem

/// The durations of jobs with one label in sequence; without a label, of jobs with the same
/// command.
struct DurationSeries: Equatable {
  struct Point: Equatable {
    var job: JobID
    var attempt: Attempt
    var duration: Duration
  }

  /// Escaped already.
  var title: String
  /// The latest ones, in the order of running.
  var points: [Point]
  /// Includes the points that are not drawn.
  var count: Int
  var sum: Duration
  var shortest: Duration
  var median: Duration
  var longest: Duration

  /// The number of columns that fit on a phone.
  private static let mostPoints = 40

  private enum Key: Hashable {
    case label(Bytes)
    case command(Command)

    var title: String {
      switch self {
      case .label(let label): Visible.text(label)
      case .command(let command): ShellQuote.command(command)
      }
    }
  }

  /// The series of jobs that ran more than once, longest total time first; O(n log n).
  ///
  /// Excludes interrupted and running jobs, whose durations are unknown.
  static func all(_ jobs: [Job], at now: ClockReading) -> [DurationSeries] {
    var groups: [Key: [Point]] = [:]
    for job in jobs where job.state.isOver {
      guard let attempt = job.attempt(at: now), let duration = attempt.duration else { continue }
      let key = job.label.map(Key.label) ?? .command(job.command)
      groups[key, default: []].append(Point(job: job.id, attempt: attempt, duration: duration))
    }
    let all = groups.compactMap { key, points in
      points.count > 1 ? DurationSeries(title: key.title, points) : nil
    }
    return all.sorted { one, other in
      // Ties are broken by job, because the order of a dictionary is random.
      (one.sum, one.points[0].job) > (other.sum, other.points[0].job)
    }
  }

  private init(title: String, _ points: [Point]) {
    self.title = title
    let ordered = points.sorted { ($0.attempt.start, $0.job) < ($1.attempt.start, $1.job) }
    self.points = ordered.suffix(Self.mostPoints)
    count = points.count
    let durations = points.map(\.duration).sorted()
    sum = durations.reduce(.zero, +)
    shortest = durations[0]
    median = durations[durations.count / 2]
    longest = durations[durations.count - 1]
  }
}
