extension Session {
  /// `serialq pause`: lets running jobs end and starts no other.
  mutating func pause(_ call: Invocation.Pause) throws(Failure) {
    for name in try names(call) {
      // A queue can be paused before it has a job.
      let folder = try spool().makeQueue(named: name)
      let isNews = try Journal(folder).locked { (scope) throws(Failure) in
        guard try !scope.isPaused() else { return false }
        try scope.append([.paused(at: Clock.now(), because: nil)])
        return true
      }
      tell("serialq: queue \(name.text) is \(isNews ? "now" : "already") paused")
    }
  }

  /// `serialq resume`: ends pauses, and starts runners where there is work.
  mutating func resume(_ call: Invocation.Pause) throws(Failure) {
    for name in try names(call) {
      let waiting = try change(name.text) {
        (queue, folder) throws(Failure) -> ([Event], Int) in
        (queue.isPaused ? [.resumed(at: Clock.now())] : [], queue.count(.waiting))
      } then: { (folder, queue) throws(Failure) in
        try startRunner(folder, queue)
      }
      tell("serialq: queue \(name.text) goes on; \(waiting) waiting")
    }
  }

  private func names(_ call: Invocation.Pause) throws(Failure) -> [Bytes] {
    guard let queue = call.queue else { return try spool().queueNames() }
    return [Bytes(queue.utf8)]
  }
}
