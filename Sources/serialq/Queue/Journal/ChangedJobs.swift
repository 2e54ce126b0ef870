/// The jobs whose attempts or states the lines of one read have changed, in the order in which they
/// reached their present states.
///
/// Other changes come at any time: a job must not be reported before the jobs that ran in between.
package struct ChangedJobs {
  private var ids: [JobID] = []

  package init() {}

  /// Notes a line; `before` is the job before it, nil if it was added.
  package mutating func note(_ entry: Entry, _ before: Job?) {
    switch entry {
    case .job(let id, _): if before == nil { ids.append(id) }
    case .run(let id, let run):
      guard before?.state != run.state || before?.attempts != run.attempts else { return }
      ids.append(id)
    case .queue, .forgotten: break
    }
  }

  /// Each job once; O(lines).
  package var inOrder: [JobID] {
    var seen: Set<JobID> = []
    return ids.reversed().filter { seen.insert($0).inserted }.reversed()
  }
}
