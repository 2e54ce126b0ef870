import SerialqSystem

/// Maps moments to positions: 0 is the left edge, 1 the right.
///
/// Draws time to scale but cuts out long idle periods: a night between two jobs would squash both.
/// Keeps the shortest idle periods up to half of the total work, and treats equal ones alike.
struct TimeScale: Equatable {
  struct Stretch: Equatable {
    var start: Timestamp
    var end: Timestamp
    var from: Double
    var to: Double
    /// Whether it is an idle period that was cut out and is drawn as a mark.
    var isCut: Bool

    var duration: Duration { .microseconds(end.microseconds - start.microseconds) }
  }

  /// In order and without gaps; empty if no job ran.
  private(set) var stretches: [Stretch] = []

  /// The shortest idle period to cut.
  private static let shortestCut: Int64 = 1_000_000
  /// The maximum widths of all marks together, and of each.
  private static let shareOfCuts = 0.25
  private static let shareOfCut = 0.02

  var cuts: [Stretch] { stretches.filter(\.isCut) }

  /// O(n log n).
  init(_ attempts: [Attempt]) {
    let busy = TimeScale.union(attempts)
    guard let first = busy.first else { return }
    let longestKept = TimeScale.longestKeptGap(busy)
    var start = first.lowerBound
    for (before, after) in zip(busy, busy.dropFirst())
    where after.lowerBound - before.upperBound > longestKept {
      append(start, before.upperBound, isCut: false)
      append(before.upperBound, after.lowerBound, isCut: true)
      start = after.lowerBound
    }
    append(start, busy.last?.upperBound ?? start, isCut: false)
    place()
  }

  /// The position of a moment; O(log n).
  func place(of moment: Timestamp) -> Double {
    var low = 0
    var high = stretches.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if stretches[middle].start <= moment { low = middle } else { high = middle }
    }
    guard low < stretches.count else { return 0 }
    let stretch = stretches[low]
    let length = stretch.end.microseconds - stretch.start.microseconds
    guard length > 0 else { return stretch.from }
    let share = Double(moment.microseconds - stretch.start.microseconds) / Double(length)
    return stretch.from + (stretch.to - stretch.from) * min(1, max(0, share))
  }

  /// The periods in which any job ran, in microseconds; disjoint and ordered.
  private static func union(_ attempts: [Attempt]) -> [ClosedRange<Int64>] {
    var union: [ClosedRange<Int64>] = []
    for attempt in attempts.sorted(by: { $0.start < $1.start }) {
      let range = attempt.start.microseconds...attempt.end.microseconds
      if let last = union.last, range.lowerBound <= last.upperBound {
        union[union.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        union.append(range)
      }
    }
    return union
  }

  private static func longestKeptGap(_ busy: [ClosedRange<Int64>]) -> Int64 {
    let work = busy.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
    let gaps = zip(busy, busy.dropFirst()).map { $1.lowerBound - $0.upperBound }.sorted()
    var longest: Int64 = shortestCut
    var sum: Int64 = 0
    var rest = gaps[...]
    while let gap = rest.first {
      let alike = rest.prefix { $0 == gap }.count
      sum += gap * Int64(alike)
      if sum > work / 2 { break }
      longest = max(longest, gap)
      rest = rest.dropFirst(alike)
    }
    return longest
  }

  private mutating func append(_ start: Int64, _ end: Int64, isCut: Bool) {
    stretches.append(
      Stretch(
        start: Timestamp(microseconds: start), end: Timestamp(microseconds: end), from: 0, to: 0,
        isCut: isCut))
  }

  private mutating func place() {
    let cuts = stretches.filter(\.isCut).count
    let cut = cuts == 0 ? 0 : min(Self.shareOfCut, Self.shareOfCuts / Double(cuts))
    func length(_ stretch: Stretch) -> Double {
      Double(stretch.end.microseconds - stretch.start.microseconds)
    }
    let drawn = stretches.reduce(0) { $1.isCut ? $0 : $0 + length($1) }
    let room = 1 - cut * Double(cuts)
    var from = 0.0
    for index in stretches.indices {
      stretches[index].from = from
      if stretches[index].isCut {
        from += cut
      } else {
        // If all durations are unknown, all stretches get the same width.
        from += room * (drawn > 0 ? length(stretches[index]) / drawn : 1 / Double(cuts + 1))
      }
      stretches[index].to = min(1, from)
    }
  }
}
