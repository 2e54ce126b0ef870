import SerialqSystem

/// The folder of a queue and the paths in it.
package struct QueueFolder: Equatable, Sendable {
  package let name: Bytes
  package let path: Bytes

  /// The events, one per line.
  var journal: Bytes { path.appending(path: Bytes("journal")) }
  /// The output of compaction, renamed over the journal.
  var newJournal: Bytes { path.appending(path: Bytes("journal.new")) }
  /// Locked for every append.
  ///
  /// Never renamed or removed: otherwise two processes could lock different files. Its size is an
  /// ``UnfinishedWork``.
  var lock: Bytes { path.appending(path: Bytes("lock")) }
  /// Locked while a runner is active.
  package var runnerLock: Bytes { path.appending(path: Bytes("runner.lock")) }
  /// The messages of a background runner, which has no terminal.
  package var runnerLog: Bytes { path.appending(path: Bytes("runner.log")) }
  /// The output of the last on-finish command.
  package var hookLog: Bytes { path.appending(path: Bytes("hook.log")) }
  /// Damaged lines that compaction removed from the journal.
  package var damaged: Bytes { path.appending(path: Bytes("damaged")) }
  package var logs: Bytes { path.appending(path: Bytes("log")) }
  var locks: Bytes { path.appending(path: Bytes("locks")) }
  var environments: Bytes { path.appending(path: Bytes("env")) }

  var parts: [Bytes] { [logs, locks, environments] }

  /// Locked by the job itself, while any of its processes holds the descriptor.
  package func jobLock(_ id: JobID) -> Bytes { locks.appending(path: Bytes(String(id).utf8)) }

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
