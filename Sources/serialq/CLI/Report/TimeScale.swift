import SerialqSystem

/// Maps moments to positions: 0 is the left edge, 1 the right.
///
/// Draws time to scale but cuts out long idle periods: a night between two jobs would squash both.
struct TimeScale: Equatable {
  /// An idle period that is drawn as a mark.
  struct Cut: Equatable {
    var from: Double
    var to: Double
    var duration: Duration
  }

  private struct Point: Equatable {
    var moment: Int64
    var place: Double
  }

  /// The starts and ends of the busy periods, in order; empty if no job ran.
  private var points: [Point] = []
  private(set) var cuts: [Cut] = []

  /// The first start and the last end; nil if no job ran.
  var ends: (Timestamp, Timestamp)? {
    guard let first = points.first, let last = points.last else { return nil }
    return (Timestamp(microseconds: first.moment), Timestamp(microseconds: last.moment))
  }

  /// Cuts out idle periods of more than a tenth of the busy time, and more than a second; O(n log
  /// n).
  init(_ attempts: [Attempt]) {
    let busy = TimeScale.union(attempts)
    let work = busy.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
    let longest = max(1_000_000, work / 10)
    // In microseconds until the width is known. A mark takes a fiftieth of the busy time.
    let mark = Double(max(1, work)) / 50
    var place = 0.0
    for range in busy {
      if let last = points.last {
        let idle = range.lowerBound - last.moment
        let isCut = idle > longest
        let from = place
        place += isCut ? mark : Double(idle)
        if isCut { cuts.append(Cut(from: from, to: place, duration: .microseconds(idle))) }
      }
      points.append(Point(moment: range.lowerBound, place: place))
      place += Double(range.upperBound - range.lowerBound)
      points.append(Point(moment: range.upperBound, place: place))
    }
    let width = max(place, 1)
    for index in points.indices { points[index].place /= width }
    for index in cuts.indices {
      cuts[index].from /= width
      cuts[index].to /= width
    }
  }

  /// The position of a moment; O(log n).
  func place(of moment: Timestamp) -> Double {
    let next = firstIndex(upTo: points.count) { points[$0].moment <= moment.microseconds }
    guard next > 0 else { return points.first?.place ?? 0 }
    let before = points[next - 1]
    guard next < points.count else { return before.place }
    let after = points[next]
    let length = after.moment - before.moment
    guard length > 0 else { return before.place }
    let share = Double(moment.microseconds - before.moment) / Double(length)
    return before.place + (after.place - before.place) * min(1, max(0, share))
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
}
