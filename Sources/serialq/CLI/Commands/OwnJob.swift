import SerialqQueue
import SerialqRunner
import SerialqSystem

// Commands that a job must not run on its own queue.
extension Session {
  /// Fails if a running job of the queue calls `command`, which would wait for the queue: a
  /// deadlock.
  ///
  func refuseOwnQueue(
    _ command: String, _ queue: Queue, named name: String
  ) throws(Failure) {
    let folder = try spool().folder(named: name)
    guard let id = queue.running.first(where: { isPart(of: $0, queue, folder) }) else { return }
    throw Failure(
      command, "job \(id) of queue \(name) calls it and would wait for itself",
      next: """
        Queue a job after it: \(serialq) add\(QueueName.option(for: name)); or use \
        another queue: -q NAME
        """)
  }

  /// Whether this process is one of the job's.
  ///
  /// By its lock: `timeout` and `setsid` change the process group, `env` the variables, and a `log
  /// -f` would copy the log into itself until the disk is full. Where locks are not shown, by the
  /// variables and the group: processes that a job left behind inherit the variables too, and the
  /// ids are valid only within one spool.
  private func isPart(of id: JobID, _ queue: Queue, _ folder: QueueFolder) -> Bool {
    if JobLock.isHeldHere(id, folder) { return true }
    guard Machine.variable("SERIALQ_QUEUE") == folder.name,
      Machine.variable("SERIALQ_JOB").flatMap(JobID.parse) == id
    else { return false }
    // The runner may not have recorded the process ID yet.
    let group = Machine.processGroup()
    return queue.job(id)?.running?.pid ?? group == group
  }
}
