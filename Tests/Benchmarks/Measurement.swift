/// A named measurement, whose closure returns the cost of one unit of its work.
struct Subject {
  let name: String
  /// Does the work once, and returns the cost of one unit, in the contest's measure.
  let measure: () -> Double
}

/// Subjects that do the same work.
///
/// The first one is the floor.
struct Contest {
  let title: String
  let unit: String
  /// The measure: nanoseconds, bytes, or a number.
  var measure = "ns"
  let subjects: [Subject]
  /// The subject that the last column compares with, in addition to the floor.
  let against: String
  var targets: [Target] = []
  private(set) var isIsolated = false
  /// The maximum number of repetitions, for slow contests.
  var atMost = Int.max
  var picture: Picture?

  /// How Documentation/Costs.md shows the contest.
  ///
  /// What stands between backticks is code.
  struct Picture {
    /// The name of its files.
    let name: String
    let title: String
    /// The subject that is a line, and what the line is called.
    let floor: String
    let floorLabel: String
    /// What a subject is called.
    let label: (String) -> String
    /// Whether the subject is this project.
    let isOwn: (String) -> Bool
  }

  /// The same contest, with a separate process for each measurement.
  var isolated: Contest {
    var contest = self
    contest.isIsolated = true
    return contest
  }
}

/// A target for a subject.
struct Target {
  let subject: String
  let bound: Bound

  enum Bound {
    /// At most this many times the cost of another subject, or of two together.
    case times(Double, String, plus: String?)
    /// At most this much more than the cost of another subject.
    case beyond(Double, String)
    case value(Double)
  }

  /// At most `factor` times the cost of `other`.
  static func of(
    _ subject: String, atMost factor: Double, times other: String, plus another: String? = nil
  ) -> Target {
    Target(subject: subject, bound: .times(factor, other, plus: another))
  }

  static func of(_ subject: String, atMost value: Double, over other: String) -> Target {
    Target(subject: subject, bound: .beyond(value, other))
  }

  static func of(_ subject: String, atMost value: Double) -> Target {
    Target(subject: subject, bound: .value(value))
  }
}

/// The results of one subject's repetitions.
struct Sample {
  private(set) var values: [Double] = []

  mutating func add(_ value: Double) {
    values.append(value)
  }

  var median: Double { quantile(0.5) }

  /// The distance between the quartiles, relative to the median.
  var spread: Double { median == 0 ? 0 : (quantile(0.75) - quantile(0.25)) / median }

  private func quantile(_ share: Double) -> Double {
    let sorted = values.sorted()
    guard let last = sorted.indices.last else { return 0 }
    return sorted[Int((Double(last) * share).rounded())]
  }
}

/// The duration of `work`, in nanoseconds.
func nanoseconds(_ work: () -> Void) -> Double {
  let (seconds, attoseconds) = ContinuousClock().measure(work).components
  return Double(seconds) * 1e9 + Double(attoseconds) / 1e9
}
