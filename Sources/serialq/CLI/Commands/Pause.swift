import SerialqQueue
import SerialqSystem

extension Session {
  /// `serialq pause`: starts no further job; running jobs continue.
  mutating func pause(_ call: Invocation.Pause) throws(Failure) {
    try forEach(try names(call)) { (name) throws(Failure) in
      // A queue can be paused before its first job.
      let folder = try spool().makeQueue(named: name)
      let isNews = try Journal(folder).locked { (scope) throws(Failure) in
        let isNews = try !scope.isPaused()
        try scope.append(isNews ? [.paused(at: Clock.now(), because: nil)] : [])
        return isNews
      }
      tell("serialq: queue \(name.text) is \(isNews ? "now" : "already") paused")
    }
  }

  /// `serialq resume`: ends pauses and starts runners.
  mutating func resume(_ call: Invocation.Pause) throws(Failure) {
    try forEach(try names(call)) { (name) throws(Failure) in
      let waiting = try change(name.text) {
        (queue, folder) throws(Failure) -> ([Event], Int) in
        (queue.isPaused ? [.resumed(at: Clock.now())] : [], queue.count(.waiting))
      } then: { (folder, queue) throws(Failure) in
        try startRunner(folder, queue)
      }
      tell("serialq: queue \(name.text) goes on; \(waiting) waiting")
    }
  }

  /// Processes every queue, even after one has failed.
  private func forEach(
    _ names: [Bytes], _ work: (Bytes) throws(Failure) -> Void
  ) throws(Failure) {
    var failures: [Failure] = []
    for name in names {
      do throws(Failure) {
        try work(name)
      } catch {
        failures.append(error)
      }
    }
    guard let last = failures.popLast() else { return }
    for failure in failures { output.message(failure.description) }
    throw last
  }

  private func names(_ call: Invocation.Pause) throws(Failure) -> [Bytes] {
    guard let queue = call.queue else { return try spool().queueNames() }
    return [Bytes(queue.utf8)]
  }
}
