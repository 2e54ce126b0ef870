extension Session {
  /// `serialq` and `serialq status`: what is going on, trouble first, and what to do next.
  mutating func status(_ call: Invocation.Status) throws(Failure) {
    let found = try readQueue(named: call.queue)
    if call.json {
      let queue = found?.1 ?? Queue()
      return output.result(json(queue, try spool().folder(named: call.queue)))
    }
    guard let (folder, queue) = found, !queue.jobs.isEmpty else {
      let option = QueueName.option(for: call.queue)
      output.result(
        "Queue \(call.queue) is empty.\n\nAdd a job:  serialq add\(option) 'make test'\n")
      return
    }
    output.result(failures(queue, folder))
    for id in queue.running {
      if let job = queue.job(id) { output.result(try running(job, folder)) }
    }
    output.result(summary(queue))
    if let next = try nextCommand(queue, folder) { output.result("\n\(next)\n") }
  }

  private func failures(_ queue: Queue, _ folder: QueueFolder) -> String {
    let failed = queue.openFailures
    let shown = failed.suffix(5)
    var text = shown.map { "job \($0.id) \($0.outcomeText): \($0.title)\n" }.joined()
    if failed.count > shown.count {
      let option = QueueName.option(for: folder.name.text)
      text = "\(failed.count - shown.count) more failed: serialq list\(option) --failed\n" + text
    }
    return text.isEmpty ? "" : text + "\n"
  }

  private func running(_ job: Job, _ folder: QueueFolder) throws(Failure) -> String {
    let time = job.elapsed.map { " for \(Humanize.duration($0))" } ?? ""
    let process = job.run?.pid.map { ", process \($0)" } ?? ""
    var text = "job \(job.id) has been running\(time)\(process): \(job.title)\n"
    if try !RunnerLock.isHeld(folder) {
      if try JobLock.isHeld(job.id, folder) {
        text += "  its runner died; the next job waits until it has ended"
        if let pid = job.run?.pid { text += "; to end it: kill -- -\(pid)" }
      } else {
        text += "  its runner died, and so did the job; serialq run marks it as interrupted"
      }
      text += "\n"
    }
    let log = try LogReader.tail(of: folder.log(job.id), lines: 3)
    return text + log.map { "  | \($0)\n" }.joined() + "\n"
  }

  private func summary(_ queue: Queue) -> String {
    let parts = JobState.allCases.compactMap { state in
      queue.count(state) > 0 ? "\(queue.count(state)) \(state.name)" : nil
    }
    let over = queue.jobs.count - queue.count(.waiting) - queue.running.count
    var text = parts.joined(separator: ", ") + "; \(over) of \(queue.jobs.count) done"
    if let left = timeLeft(queue) { text += ", about \(Humanize.duration(left)) left" }
    return text + "\n"
  }

  /// From how long the jobs that ended have taken on average.
  private func timeLeft(_ queue: Queue) -> Duration? {
    let durations = queue.jobs.compactMap { $0.state == .running ? nil : $0.run?.duration }
    guard !durations.isEmpty, queue.count(.waiting) > 0 else { return nil }
    let mean = durations.reduce(0.0) { $0 + Double($1) } / Double(durations.count)
    return .nanoseconds(Int64(mean * Double(queue.count(.waiting))))
  }

  private func nextCommand(_ queue: Queue, _ folder: QueueFolder) throws(Failure) -> String? {
    let option = QueueName.option(for: folder.name.text)
    if let failed = queue.openFailures.last {
      return "Look why:  serialq log\(option) \(failed.id)"
    }
    if queue.running.isEmpty ? queue.count(.waiting) > 0 : try !RunnerLock.isHeld(folder) {
      return "Run them:  serialq run\(option)"
    }
    if let id = queue.running.first { return "Watch it:  serialq log\(option) -f \(id)" }
    return nil
  }

  private func json(_ queue: Queue, _ folder: QueueFolder) -> Bytes {
    var json = JSONWriter()
    json.object { json in
      json.member("version", 1)
      json.member("queue", folder.name)
      json.member("paused", queue.isPaused)
      json.key("counts")
      json.object { json in
        for state in JobState.allCases {
          json.key(state.name)
          json.int(Int64(queue.count(state)))
        }
      }
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
