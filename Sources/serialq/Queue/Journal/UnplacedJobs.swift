import SerialqSystem

/// The waiting jobs that have no place in an order yet; finds the last of a range in O(log n).
///
/// A disjoint-set forest: the link of a placed job leads to the one before it.
struct UnplacedJobs {
  /// All waiting jobs, ascending.
  private let ids: [JobID]
  /// At the number of a job, counted from 1: itself, or a lower number after it was placed.
  private var links: [Int]

  init(of queue: Queue) {
    ids = queue.jobs.filter { $0.state == .waiting }.map(\.id)
    links = Array(0...ids.count)
  }

  mutating func place(_ id: JobID) {
    let number = number(upTo: id)
    links[number] = number - 1
  }

  /// The highest unplaced id in these ranges.
  mutating func last(in ranges: [ClosedRange<JobID>]) -> JobID? {
    for range in ranges.reversed() {
      var number = number(upTo: range.upperBound)
      while links[number] != number {
        links[number] = links[links[number]]
        number = links[number]
      }
      if number > 0, ids[number - 1] >= range.lowerBound { return ids[number - 1] }
    }
    return nil
  }

  /// The number of jobs up to this id.
  private func number(upTo id: JobID) -> Int {
    firstIndex(upTo: ids.count) { ids[$0] <= id }
  }
}
