import SerialqQueue
import SerialqSystem

/// How long jobs of one label took, one after another; of jobs without one, those that ran the same
/// command.
struct DurationSeries: Equatable {
  struct Point: Equatable {
    var job: JobID
    var attempt: Attempt
    var duration: Duration
  }

  /// Visible text.
  var title: String
  /// The latest of them, in the order in which they ran.
  var points: [Point]
  /// How many there are.
  var count: Int
  var sum: Duration
  var shortest: Duration
  var median: Duration
  var longest: Duration

  /// What columns a phone can show.
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

  /// Those of a queue that ran more than once, the one that took the most time in all first.
  ///
  /// What was interrupted took a time that nobody knows, and what still runs one that grows.
  /// O(n log n).
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
      // Jobs decide between those that took the same time: a dictionary has no order.
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
