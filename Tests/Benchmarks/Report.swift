import Foundation

/// A contest and what was measured.
struct Report {
  let contest: Contest
  let samples: [Sample]

  /// Measures every subject in turn, over and over, so that a slow moment of the machine hits all.
  init(_ contest: Contest, repetitions: Int) {
    self.contest = contest
    var samples = contest.subjects.map { _ in Sample() }
    for _ in 0..<repetitions {
      for (index, subject) in contest.subjects.enumerated() {
        samples[index].add(subject.measure())
      }
    }
    self.samples = samples
  }

  private func ratio(_ index: Int, to name: String?) -> Double? {
    let base = name.map { name in contest.subjects.firstIndex { $0.name == name } } ?? 0
    return base.map { samples[index].median / samples[$0].median }
  }

  /// A row a subject: the median, its spread, and how many times the first and the peer it is.
  var table: String {
    var lines = ["\(contest.title), \(contest.measure) a \(contest.unit)"]
    let peer = contest.against
    lines.append(row("", contest.measure, "spread", "x floor", "x \(peer)"))
    for (index, subject) in contest.subjects.enumerated() {
      let sample = samples[index]
      lines.append(
        row(
          subject.name, String(format: "%.0f", sample.median),
          String(format: "%.0f %%", sample.spread * 100),
          ratio(index, to: nil).map { String(format: "%.2f", $0) } ?? "",
          ratio(index, to: peer).map { String(format: "%.2f", $0) } ?? ""))
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private func row(_ cells: String...) -> String {
    let widths = [24, 10, 8, 9, 18]
    return zip(cells, widths).enumerated().map { index, cell in
      let padding = String(repeating: " ", count: max(0, cell.1 - cell.0.count))
      return index == 0 ? "  " + cell.0 + padding : padding + cell.0
    }.joined()
  }

  /// The same for programs.
  var json: [String: Any] {
    [
      "title": contest.title, "measure": contest.measure, "unit": contest.unit,
      "subjects": contest.subjects.indices.map { index in
        [
          "name": contest.subjects[index].name, "median": samples[index].median,
          "spread": samples[index].spread, "timesFloor": ratio(index, to: nil) ?? 0,
        ] as [String: Any]
      },
    ]
  }
}
