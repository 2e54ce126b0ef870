/// The jobs that the events of one read have changed, in the order in which they reached their present
/// states.
package struct ChangedJobs {
  private var ids: [JobID] = []

  package init() {}

  package mutating func note(_ event: Event) {
    switch event {
    // These come at any time before or after the turn of their job: it must not be reported before the
    // jobs that ran in between, or after them.
    case .moved, .edited, .acknowledged, .hookFailed: break
    default: if let id = event.job, ids.last != id { ids.append(id) }
    }
  }

  /// Each job once; O(events).
  package var inOrder: [JobID] {
    var seen: Set<JobID> = []
    return ids.reversed().filter { seen.insert($0).inserted }.reversed()
  }
}
