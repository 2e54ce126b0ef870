import SerialqQueue
import SerialqSystem

extension Session {
  /// `serialq clean`: forgets finished jobs and deletes their logs.
  mutating func clean(_ call: Invocation.Clean) throws(Failure) {
    guard let folder = try spool().existingQueue(named: Bytes(call.queue.utf8)) else { return }
    let (forgotten, kept, damaged) = try Journal(folder).locked { (scope) throws(Failure) in
      var queue = Queue()
      var reader = JournalReader(folder)
      _ = try reader.read(into: &queue)
      let jobs = wanted(call, in: queue)
      let ids = JobID.ranges(of: jobs)
      if !ids.isEmpty { try scope.append([.forgotten(ids: ids, at: Clock.now())]) }
      // After the jobs were forgotten: a remaining log is harmless.
      folder.removeLogs(ids)
      let damaged: [DamagedLine]
      do throws(Failure) {
        damaged = try scope.compact()
      } catch {
        guard !ids.isEmpty else { throw error }
        throw error.adding(
          """
          The jobs are forgotten all the same. To make the journal smaller, try again: serialq \
          clean\(QueueName.option(for: call.queue))
          """)
      }
      let kept = call.all || call.onlyFailed ? 0 : queue.openFailureCount
      return (jobs.count, kept, damaged)
    }
    report(damaged, in: folder)
    let option = QueueName.option(for: call.queue)
    tell("serialq: forgot \(forgotten) \(forgotten == 1 ? "job" : "jobs")")
    if kept > 0 {
      output.message(
        """
        serialq: kept \(kept) open \(kept == 1 ? "failure" : "failures")
        Look at them: serialq list\(option) --failed; forget them: serialq clean\(option) --all
        """)
    }
  }

  private func wanted(_ call: Invocation.Clean, in queue: Queue) -> [JobID] {
    let limit = call.olderThan.map { Clock.now().microseconds - Int64($0) * 1_000_000 }
    var jobs = queue.jobs.filter { job in
      guard job.state.isOver else { return false }
      if call.onlyFailed { return job.state.isFailure }
      return call.all || !job.isOpenFailure
    }
    if let limit { jobs = jobs.filter { $0.overSince.microseconds < limit } }
    return jobs.ids(excludingLatest: call.keep ?? 0)
  }
}
