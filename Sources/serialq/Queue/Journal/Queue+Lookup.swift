import SerialqSystem

extension Queue {
  /// The jobs with these ids, in this order and without duplicates; fails if one does not exist.
  package func jobs(_ ids: [ClosedRange<JobID>], in name: String) throws(Failure) -> [Job] {
    var seen: Set<JobID> = []
    var found: [Job] = []
    for range in ids {
      let start = Queue.place(of: range.lowerBound, in: jobs)
      let part = jobs[start...].prefix { range.contains($0.id) }
      if part.isEmpty || range.count == 1 && part.first?.id != range.lowerBound {
        throw missing(range, in: name)
      }
      found += part.filter { seen.insert($0.id).inserted }
    }
    return found
  }

  package func missing(_ range: ClosedRange<JobID>, in name: String) -> Failure {
    let last = jobs.last.map { "its last job is \($0.id)" } ?? "it has no jobs"
    return Failure(
      range.count == 1 ? "job \(range.text)" : "jobs \(range.text)",
      "queue \(name) has no such job; \(last)",
      next: "See all with: serialq list\(QueueName.option(for: name))")
  }
}
