import SerialqQueue
import SerialqSystem

// What a job that calls serialq cannot ask for.
extension Session {
  /// Fails if this is called by a job that runs in the queue, of which `command` is to wait for
  /// something: nothing in it begins or ends before that job has ended, which waits for this.
  ///
  /// A job is known by its process group, beside its variables: those are found where no job is, too,
  /// as in what it has left running, and mean another job in another folder of queues.
  func refuseOwnQueue(
    _ command: String, _ queue: Queue, named name: String
  ) throws(Failure) {
    guard Machine.variable("SERIALQ_QUEUE") == Bytes(name.utf8),
      let id = Machine.variable("SERIALQ_JOB").flatMap(JobID.parse),
      let job = queue.job(id), job.state == .running
    else { return }
    let group = Machine.processGroup()
    // A job can be here before its runner has written down which process it is.
    guard job.run?.pid ?? group == group else { return }
    throw Failure(
      command, "job \(id) of queue \(name) calls it, and would wait for itself",
      next: """
        Queue what is to come after the job: serialq add\(QueueName.option(for: name)); or use \
        another queue: -q NAME
        """)
  }
}
