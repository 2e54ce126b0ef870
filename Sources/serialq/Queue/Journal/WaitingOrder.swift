/// The order of the waiting jobs: a list linked by ids.
///
/// Inserts and removes a job anywhere in O(1) steps, each of which looks up a job by id. Stored
/// next to the jobs, with one link per job at the same index.
struct WaitingOrder: Equatable, Sendable {
  typealias Find = (JobID) -> Int?

  /// Marks the absence of a job.
  static let none: JobID = 0

  private struct Link: Equatable {
    var before = WaitingOrder.none
    var after = WaitingOrder.none
  }

  private(set) var first = none
  private(set) var last = none
  private var links: [Link] = []

  func before(_ index: Int) -> JobID { links[index].before }
  func after(_ index: Int) -> JobID { links[index].after }

  mutating func insert(
    _ id: JobID, at index: Int, between before: JobID, and after: JobID, find: Find
  ) {
    links[index] = Link(before: before, after: after)
    connect(before, to: id, find)
    connect(id, to: after, find)
  }

  mutating func remove(at index: Int, find: Find) {
    let link = links[index]
    links[index] = Link()
    connect(link.before, to: link.after, find)
  }

  private mutating func connect(_ before: JobID, to after: JobID, _ find: Find) {
    if before == WaitingOrder.none {
      first = after
    } else if let index = find(before) {
      links[index].after = after
    }
    if after == WaitingOrder.none {
      last = before
    } else if let index = find(after) {
      links[index].before = before
    }
  }

  // MARK: Storage

  mutating func makeRoom(at index: Int) { links.insert(Link(), at: index) }
  mutating func moveLink(from index: Int, to kept: Int) { links[kept] = links[index] }
  mutating func keepRoom(for count: Int) { links.removeSubrange(count...) }
}
