extension Runner {
  /// Finds out about the jobs that a runner before this one started and did not see the end of.
  ///
  /// A job whose processes live on is waited for, so that no two ever run at once. How such a job
  /// ended nobody knows: it is marked as interrupted, and never run again by itself. Whoever
  /// follows the queue tells of it, as of every end.
  func recover() throws(Failure) {
    let lost = try view.withLock { (view) throws(Failure) in
      try view.update()
      return view.queue.running.compactMap { view.queue.job($0) }
    }
    // Left behind by a runner that was killed while it waited.
    RunnerLock.tell(orphan: nil, self.lock)
    for job in lost {
      try waitForOrphan(job)
      let view = view.withLock { $0.journal }
      try view.append([.interrupted(id: job.id, at: Clock.now())])
      JobLock.remove(job.id, folder)
    }
    try compactIfWorthIt()
  }

  private func waitForOrphan(_ job: Job) throws(Failure) {
    guard let lock = try JobLock.existing(job.id, folder), try !tried(lock) else { return }
    // Not held, it is only being looked at.
    guard try JobLock.isHeld(job.id, folder) else { return try wait(for: lock) }
    let process = job.run?.pid.map { " (process group \($0))" } ?? ""
    let end = job.run?.pid.map { "\nTo end it: kill -- -\($0)" } ?? ""
    say(
      """
      serialq: job \(job.id)\(process) of a runner that died is still running; waiting for its \
      end\(end)
      """)
    RunnerLock.tell(orphan: job.id, self.lock)
    defer { RunnerLock.tell(orphan: nil, self.lock) }
    try wait(for: lock)
  }

  private func compactIfWorthIt() throws(Failure) {
    try view.withLock { (view) throws(Failure) in
      try view.update()
      guard view.reader.isWorthCompacting(view.queue) else { return }
      try view.journal.locked { (scope) throws(Failure) in try scope.compact() }
      try view.update()
    }
  }
}
