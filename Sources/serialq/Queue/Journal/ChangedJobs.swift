/// The jobs that the events of one read have changed, in the order in which they reached their present
/// states.
package struct ChangedJobs {
  private var ids: [JobID] = []

  package init() {}

  package mutating func note(_ event: Event) {
    if let id = Self.job(of: event), ids.last != id { ids.append(id) }
  }

  /// The job whose state the event may change.
  ///
  /// Nil for those that come at any time before or after the turn of their job: it must not be reported
  /// before the jobs that ran in between, or after them.
  package static func job(of event: Event) -> JobID? {
    switch event {
    case .moved, .edited, .acknowledged, .hookFailed: nil
    default: event.job
    }
  }

  /// Each job once; O(events).
  package var inOrder: [JobID] {
    var seen: Set<JobID> = []
    return ids.reversed().filter { seen.insert($0).inserted }.reversed()
  }
}
