import SerialqSystem

/// The keys of the latest calls of `add` from other machines, each with the jobs that it added.
///
/// A caller that lost its connection does not know whether its jobs are queued. It repeats the call
/// with the same key, which then adds nothing.
package struct AddKeys: Equatable, Sendable {
  struct Entry: Equatable, Sendable {
    let key: Bytes
    let ids: [ClosedRange<JobID>]
  }

  /// The oldest first.
  private(set) var entries: [Entry] = []

  /// How many are kept: far more than calls can be under way.
  static let most = 1_000

  /// The jobs of the call with this key; nil if it is unknown; O(n).
  package func ids(of key: Bytes) -> [ClosedRange<JobID>]? {
    entries.last { $0.key == key }?.ids
  }

  mutating func note(_ key: Bytes, _ ids: [ClosedRange<JobID>]) -> Bool {
    guard self.ids(of: key) == nil else { return false }
    entries.append(Entry(key: key, ids: ids))
    if entries.count > Self.most { entries.removeFirst() }
    return true
  }
}

extension Event {
  /// Records the jobs of the call with this key, which are ascending.
  package static func added(_ ids: [JobID], byCall key: Bytes) -> Event {
    var ranges: [ClosedRange<JobID>] = []
    for id in ids { ranges.append(next: id) }
    return .keyed(key, ids: ranges, at: Clock.now())
  }
}
