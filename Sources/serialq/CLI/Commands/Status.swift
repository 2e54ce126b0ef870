import SerialqQueue
import SerialqRunner
import SerialqSystem

extension Session {
  /// `serialq` and `serialq status`: shows the state of a queue, failures first, and suggests
  /// commands.
  mutating func status(_ call: Invocation.Status) throws(Failure) {
    let found = try readQueue(named: call.queue)
    if call.json {
      let queue = found?.1 ?? Queue()
      return result(json: try json(queue, try spool().folder(named: call.queue)))
    }
    if call.watches { return try watchStatus(of: call.queue) }
    let report = try report(found, named: call.queue)
    for line in report.lines(columns: traits.isLive ? traits.width : nil) {
      // Truncates commands, which can be very long, but never a suggested command line.
      let isAdvice = report.advice.contains(line)
      let fitted = isAdvice ? line : traits.width.map(line.fitted(to:)) ?? line
      output.result(fitted.rendered(color: traits.hasColor) + "\n")
    }
  }

  private func report(
    _ found: (QueueFolder, Queue)?, named name: String
  ) throws(Failure) -> StatusReport {
    guard let (folder, queue) = found, !queue.jobs.isEmpty else {
      let names = try spool().queueNames()
      return StatusReport(empty: name, hasOthers: names.contains { $0 != Bytes(name.utf8) })
    }
    return try StatusReport(folder, queue, QueueProgress(queue))
  }

  private func json(_ queue: Queue, _ folder: QueueFolder) throws(Failure) -> Bytes {
    let hasRunner = try RunnerLock.isHeld(folder)
    let damaged = try folder.hasDamagedLines() ? folder.damaged : nil
    var json = JSONWriter()
    json.object { json in
      json.member("version", 1)
      json.member("queue", folder.name)
      json.member("paused", queue.isPaused)
      json.member("runner", hasRunner)
      json.member("damaged", damaged)
      json.member("openFailures", queue.openFailureCount)
      json.key("counts")
      queue.writeCounts(to: &json)
      json.key("running")
      if let job = queue.running.first.flatMap(queue.job) {
        job.write(to: &json, log: folder.log(job.id))
      } else {
        json.null()
      }
    }
    json.endLine()
    return json.bytes
  }
}
