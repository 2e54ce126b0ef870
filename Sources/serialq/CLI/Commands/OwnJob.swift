import SerialqQueue
import SerialqSystem

// Commands that a job must not run on its own queue.
extension Session {
  /// Fails if a running job of the queue calls `command`, which would wait for the queue: a
  /// deadlock.
  ///
  /// Identifies the job by its process group in addition to its variables. Processes that a job
  /// left behind inherit the variables too, and the ids are valid only within one spool.
  func refuseOwnQueue(
    _ command: String, _ queue: Queue, named name: String
  ) throws(Failure) {
    guard Machine.variable("SERIALQ_QUEUE") == Bytes(name.utf8),
      let id = Machine.variable("SERIALQ_JOB").flatMap(JobID.parse),
      let job = queue.job(id), job.state == .running
    else { return }
    let group = Machine.processGroup()
    // The runner may not have recorded the process ID yet.
    guard job.run?.pid ?? group == group else { return }
    throw Failure(
      command, "job \(id) of queue \(name) calls it and would wait for itself",
      next: """
        Queue a job after it: serialq add\(QueueName.option(for: name)); or use \
        another queue: -q NAME
        """)
  }
}
