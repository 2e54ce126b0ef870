import SerialqSystem

extension QueueFolder {
  package func log(_ id: JobID) -> Bytes { logs.appending(path: Bytes(String(id).utf8)) }

  /// The variables that serialq adds to a job's environment.
  package func variables(of id: JobID) -> [Bytes] {
    [Bytes("SERIALQ_JOB=\(id)".utf8), Bytes("SERIALQ_QUEUE=") + name]
  }

  /// Deletes the logs of forgotten jobs; ignores errors, because a remaining log is harmless.
  package func removeLogs(_ ids: [ClosedRange<JobID>]) {
    for id in ids.joined() { try? FileSystem.remove(log(id)) }
  }
}
