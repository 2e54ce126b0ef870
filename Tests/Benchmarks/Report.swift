import Foundation

/// A contest and its results.
struct Report {
  let contest: Contest
  let samples: [Sample]

  /// Measures all subjects in turn, repeatedly, so that a slow moment of the machine affects all of
  /// them.
  init(_ contest: Contest, repetitions: Int) {
    self.contest = contest
    var samples = contest.subjects.map { _ in Sample() }
    for _ in 0..<min(repetitions, contest.atMost) {
      for (index, subject) in contest.subjects.enumerated() {
        samples[index].add(
          contest.isIsolated ? Isolated.measure(subject, of: contest) : subject.measure())
      }
    }
    self.samples = samples
  }

  /// The names of the subjects and their costs.
  var medians: [(name: String, cost: Double)] {
    zip(contest.subjects, samples).map { ($0.name, $1.median) }
  }

  private func index(of name: String) -> Int? {
    contest.subjects.firstIndex { $0.name == name }
  }

  private func ratio(_ index: Int, to base: Int?) -> Double? {
    guard let base, samples[base].median != 0 else { return nil }
    return samples[index].median / samples[base].median
  }

  /// One row for each subject: the median, its spread, and the ratios to the floor and to the peer.
  ///
  /// Then the targets, and whether each was met.
  var table: String {
    var lines = ["\(contest.title), \(contest.measure) a \(contest.unit)"]
    lines.append(row("", contest.measure, "spread", "x floor", "x \(contest.against)"))
    for (index, subject) in contest.subjects.enumerated() {
      let sample = samples[index]
      let digits = sample.median < 100 && contest.measure != "ns" ? 1 : 0
      lines.append(
        row(
          subject.name, Self.number(sample.median, digits),
          Self.number(sample.spread * 100, 0) + " %",
          ratio(index, to: 0).map { Self.number($0, 2) } ?? "",
          ratio(index, to: self.index(of: contest.against)).map { Self.number($0, 2) } ?? ""))
    }
    lines += verdicts.map(\.line)
    return lines.joined(separator: "\n") + "\n"
  }

  /// The result of a target; none if the subject that it compares with was not measured.
  struct Verdict {
    let text: String
    let isReached: Bool

    /// Met, or missed by how much.
    init(_ text: String, _ reached: Double, atMost limit: Double) {
      isReached = reached <= limit
      let missing = (reached / limit - 1) * 100
      let by = limit > 0 ? " by \(Report.number(missing, missing < 10 ? 1 : 0)) %" : ""
      self.text = text + (isReached ? ": met" : ": missed\(by)")
    }

    var line: String { "  \(isReached ? "+" : "!") \(text)" }
    var json: [String: Any] { ["text": text, "reached": isReached] }
  }

  var verdicts: [Verdict] {
    contest.targets.compactMap { target in
      guard let subject = index(of: target.subject) else { return nil }
      let value = samples[subject].median
      let reached: Double
      let limit: Double
      let what: String
      switch target.bound {
      case .times(let factor, let name, let another):
        guard let other = index(of: name) else { return nil }
        let more = another.flatMap(index).map { samples[$0].median } ?? 0
        reached = value / (samples[other].median + more)
        (limit, what) = (factor, "times " + name + (another.map { " + " + $0 } ?? ""))
      case .beyond(let most, let name):
        guard let other = index(of: name) else { return nil }
        (reached, limit, what) = (
          value - samples[other].median, most, "\(contest.measure) more than \(name)"
        )
      case .value(let most):
        (reached, limit, what) = (value, most, contest.measure)
      }
      let digits = limit < 100 ? 2 : 0
      let text =
        "\(target.subject): \(Self.number(reached, digits)) \(what), at most \(Self.number(limit, digits))"
      return Verdict(text, reached, atMost: limit)
    }
  }

  static func number(_ value: Double, _ digits: Int) -> String {
    String(format: "%.\(digits)f", value)
  }

  private func row(_ cells: String...) -> String { Self.row(cells, [32, 12, 8, 9, 28]) }

  /// Cells in columns: the first one starts at the left, the others end at the right.
  static func row(_ cells: [String], _ widths: [Int]) -> String {
    zip(cells, widths).enumerated().map { index, cell in
      let padding = String(repeating: " ", count: max(0, cell.1 - cell.0.count))
      return index == 0 ? "  " + cell.0 + padding : padding + cell.0
    }.joined()
  }

  /// The report in a machine-readable form.
  var json: [String: Any] {
    [
      "title": contest.title, "measure": contest.measure, "unit": contest.unit,
      "subjects": contest.subjects.indices.map { index in
        [
          "name": contest.subjects[index].name, "median": samples[index].median,
          "spread": samples[index].spread, "timesFloor": ratio(index, to: 0) ?? 0,
        ] as [String: Any]
      },
      "targets": verdicts.map(\.json),
    ]
  }
}
