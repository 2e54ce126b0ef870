/// One thing that is measured: a name, and work that says how much each of its units took.
struct Subject {
  let name: String
  /// Does the work once, and returns what one unit of it took, in the contest's measure.
  let measure: () -> Double
}

/// Subjects that do the same work, the first of which is the floor.
struct Contest {
  let title: String
  let unit: String
  /// What is counted: nanoseconds, bytes, or a number.
  var measure = "ns"
  let subjects: [Subject]
  /// What the last column compares with, beside the floor.
  let against: String
  var targets: [Target] = []
  private(set) var isIsolated = false
  /// The most repetitions, where one takes long.
  var atMost = Int.max

  /// The same contest, with a process for each measurement.
  var isolated: Contest {
    var contest = self
    contest.isIsolated = true
    return contest
  }
}

/// What a subject must reach.
struct Target {
  let subject: String
  let bound: Bound

  enum Bound {
    /// At most so many times what another takes.
    case times(Double, String)
    /// At most so much more than what another takes.
    case beyond(Double, String)
    case value(Double)
  }

  /// At most `factor` times what `other` takes.
  static func of(_ subject: String, atMost factor: Double, times other: String) -> Target {
    Target(subject: subject, bound: .times(factor, other))
  }

  static func of(_ subject: String, atMost value: Double, over other: String) -> Target {
    Target(subject: subject, bound: .beyond(value, other))
  }

  static func of(_ subject: String, atMost value: Double) -> Target {
    Target(subject: subject, bound: .value(value))
  }
}

/// What the repetitions of one subject gave.
struct Sample {
  private(set) var values: [Double] = []

  mutating func add(_ value: Double) {
    values.append(value)
  }

  var median: Double { quantile(0.5) }

  /// The distance between the quartiles, as a share of the median.
  var spread: Double { median == 0 ? 0 : (quantile(0.75) - quantile(0.25)) / median }

  private func quantile(_ share: Double) -> Double {
    let sorted = values.sorted()
    guard let last = sorted.indices.last else { return 0 }
    return sorted[Int((Double(last) * share).rounded())]
  }
}

/// How long `work` took, in nanoseconds.
func nanoseconds(_ work: () -> Void) -> Double {
  let (seconds, attoseconds) = ContinuousClock().measure(work).components
  return Double(seconds) * 1e9 + Double(attoseconds) / 1e9
}
