import SerialqQueue
import SerialqRunner
import SerialqSystem

extension Session {
  /// `serialq log`: prints the log of a job, or follows those of a queue.
  mutating func log(_ call: Invocation.Log) throws(Failure) {
    if call.follows, call.id == nil { return try followQueue(call) }
    let id = if let id = call.id { id } else { try lastJob(in: call.queue) }
    let (folder, job) = try readJob(id, in: call.queue)
    if call.follows, !job.state.isOver {
      return try follow(.job(id), in: folder)
    }
    if job.state == .waiting {
      throw Failure(
        "the log of job \(id)", "it has not run yet",
        next: "Wait for it: serialq log\(QueueName.option(for: call.queue)) -f \(id)")
    }
    var log = LogReader(folder.log(id))
    try log.printOnce(to: &output)
  }

  /// The job that is running or ran last; reports its id on a terminal.
  private mutating func lastJob(in name: String) throws(Failure) -> JobID {
    guard let job = try readQueue(named: name)?.1.lastStarted else {
      throw Failure(
        "log", "no job of queue \(name) has run yet",
        next: "Follow them: serialq log\(QueueName.option(for: name)) -f")
    }
    if messageTraits.isTerminal { output.message("serialq: job \(job.id): \(job.title)") }
    return job.id
  }

  private mutating func followQueue(_ call: Invocation.Log) throws(Failure) {
    // An empty queue has nothing to follow, and its folders may not exist yet.
    let found = try readQueue(named: call.queue)
    guard let (folder, queue) = found, !queue.running.isEmpty || queue.count(.waiting) > 0 else {
      if messageTraits.isTerminal {
        output.message(
          """
          serialq: queue \(call.queue) has nothing to follow; its jobs: \
          serialq list\(QueueName.option(for: call.queue))
          """)
      }
      return
    }
    try follow(.queue, in: folder)
  }

  private mutating func follow(_ subject: Follower.Subject, in folder: QueueFolder) throws(Failure)
  {
    let style = Follower.OutputStyle(
      isTalkative: subject == .queue && messageTraits.isTerminal, sharesTerminal: traits.isTerminal)
    var follower = try Follower(folder, subject, style)
    if !follower.isAtEnd {
      try refuseOwnQueue("log -f", follower.queue, named: follower.queueName)
    }
    let hasRunner = try RunnerLock.isHeld(folder)
    if !follower.isAtEnd && !hasRunner {
      let name = folder.name.text
      output.message(
        """
        serialq: queue \(name) has no runner at work; start one with: serialq \
        run\(QueueName.option(for: name))
        """)
    }
    try follower.advance(&output)
    while !follower.isAtEnd && !output.readerIsGone {
      try follower.wait()
      try follower.advance(&output)
    }
  }
}
