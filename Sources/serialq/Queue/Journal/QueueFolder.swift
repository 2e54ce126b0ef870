import SerialqSystem

/// The folder of one queue, and where everything in it is.
package struct QueueFolder: Equatable, Sendable {
  package let name: Bytes
  package let path: Bytes

  init(name: Bytes, path: Bytes) {
    self.name = name
    self.path = path
  }

  /// The events, a line each.
  var journal: Bytes { path.appending(path: Bytes("journal")) }
  /// What compaction writes before it takes the journal's place.
  var newJournal: Bytes { path.appending(path: Bytes("journal.new")) }
  /// Locked by whoever appends.
  ///
  /// Never renamed or removed, or two could hold the lock of two files. Its size is an
  /// ``UnfinishedWork``.
  var lock: Bytes { path.appending(path: Bytes("lock")) }
  /// Locked for as long as a runner is at work.
  package var runnerLock: Bytes { path.appending(path: Bytes("runner.lock")) }
  /// What a runner in the background has to say: nobody else hears it.
  package var runnerLog: Bytes { path.appending(path: Bytes("runner.log")) }
  /// The output of the last command that was run because a job had ended.
  package var hookLog: Bytes { path.appending(path: Bytes("hook.log")) }
  /// Damaged lines that compaction took out of the journal.
  package var damaged: Bytes { path.appending(path: Bytes("damaged")) }
  package var logs: Bytes { path.appending(path: Bytes("log")) }
  var locks: Bytes { path.appending(path: Bytes("locks")) }
  var environments: Bytes { path.appending(path: Bytes("env")) }

  /// The folders in it.
  var parts: [Bytes] { [logs, locks, environments] }

  /// Locked by the job itself, as long as any process of it has the descriptor.
  package func jobLock(_ id: JobID) -> Bytes { locks.appending(path: Bytes(String(id).utf8)) }
}
