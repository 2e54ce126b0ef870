import SerialqSystem

extension QueueFolder {
  /// The output of a job.
  package func log(_ id: JobID) -> Bytes { logs.appending(path: Bytes(String(id).utf8)) }

  /// What a job finds in its environment beside its own.
  package func variables(of id: JobID) -> [Bytes] {
    [Bytes("SERIALQ_JOB=\(id)".utf8), Bytes("SERIALQ_QUEUE=") + name]
  }

  /// Deletes the logs of jobs that are no longer known; one that stays behind does no harm.
  package func removeLogs(_ ids: [ClosedRange<JobID>]) {
    for id in ids.joined() { try? FileSystem.remove(log(id)) }
  }
}
