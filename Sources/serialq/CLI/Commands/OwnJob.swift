import SerialqQueue
import SerialqRunner
import SerialqSystem

// Commands that a job must not run on its own queue, or on one that waits for the job.
extension Session {
  /// Marks that this process waits for a queue, or for a job of it, while the result is kept.
  ///
  /// Fails if a job would wait for itself, also through jobs of other queues. Without `marks`, as
  /// for a wait that ends by itself, no other command is refused because of it.
  func willWait(
    _ command: String, for job: JobID? = nil, _ queue: Queue, _ folder: QueueFolder,
    marks: Bool = true
  ) throws(Failure) -> WaitMark? {
    try refuseOwnQueue(command, queue, named: folder.name)
    guard WaitMark.isPossible else { return nil }
    // Before the search: of two commands that begin at the same time, one at least sees the other.
    let mark = marks ? WaitMark(folder, job) : nil
    var seen: Set<String> = []
    guard let chain = try chain(from: folder, queue, &seen) else { return mark }
    throw Failure(
      command, "\(chain) calls it and would wait for itself",
      next: """
        Queue a job instead: \(advised("add", in: folder.name)); or use another queue: -q NAME
        """)
  }

  /// Through which running jobs a queue waits for the job that this process is part of; nil if it
  /// does not.
  private func chain(
    from folder: QueueFolder, _ queue: Queue, _ seen: inout Set<String>
  ) throws(Failure) -> String? {
    guard seen.insert(folder.name).inserted else { return nil }
    for job in queue.running.compactMap(queue.job) {
      let name = "job \(job.id) of queue \(folder.name)"
      if isPart(of: job.id, queue, folder) { return name }
      for (next, awaited) in WaitMark.all(of: job, in: folder, try spool()) {
        var reader = JournalReader(next)
        // One that cannot be read is not known to wait. A job that is over is not waited for any
        // more.
        guard (try? reader.read()) != nil,
          awaited.map({ reader.queue.job($0)?.state.isOver == false }) ?? true,
          let rest = try chain(from: next, reader.queue, &seen)
        else { continue }
        return "\(name) waits for queue \(next.name), and \(rest)"
      }
    }
    return nil
  }

  /// Fails if a running job of the queue calls `command`, which would wait for the queue: a
  /// deadlock.
  func refuseOwnQueue(
    _ command: String, _ queue: Queue, named name: String
  ) throws(Failure) {
    let folder = try spool().folder(named: name)
    guard let id = queue.running.first(where: { isPart(of: $0, queue, folder) }) else { return }
    throw Failure(
      command, "job \(id) of queue \(name) calls it and would wait for itself",
      next: "Queue a job after it: \(advised("add", in: name)); or use another queue: -q NAME")
  }

  /// Whether this process is one of the job's.
  ///
  /// By its lock: `timeout` and `setsid` change the process group, `env` the variables, and a `log
  /// -f` would copy the log into itself until the disk is full. Without the lock, by the variables,
  /// and the group or the descent: processes that a job left behind inherit the variables too, and
  /// the ids are valid only within one spool.
  private func isPart(of id: JobID, _ queue: Queue, _ folder: QueueFolder) -> Bool {
    if JobLock.isHeldHere(id, folder) { return true }
    guard Machine.variable("SERIALQ_QUEUE") == Bytes(folder.name.utf8),
      Machine.variable("SERIALQ_JOB").flatMap(JobID.parse) == id
    else { return false }
    // The runner may not have recorded the process ID yet.
    let group = Machine.processGroup()
    guard let pid = queue.job(id)?.running?.pid, pid != group else { return true }
    return ProcessStatus.isAncestor(pid)
  }
}
