import SerialqSystem

/// The folder of a queue and the paths in it.
package struct QueueFolder: Equatable, Sendable {
  package let name: String
  package let path: Bytes

  /// The folder of all queues.
  package var spool: Bytes {
    let spool = path.dropLast(name.utf8.count + 1)
    return spool.isEmpty ? Bytes("/") : Bytes(spool)
  }

  /// The states of the jobs and of the queue, one per line.
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
  /// Open in the processes of jobs that wait for the queue; always empty.
  package var waiters: Bytes { path.appending(path: Bytes("waiters")) }
  /// Locked by the followers of the queue; see ``UnreadLogs``.
  var followersLock: Bytes { path.appending(path: Bytes("followers.lock")) }
  /// The messages of a background runner, which has no terminal.
  package var runnerLog: Bytes { path.appending(path: Bytes("runner.log")) }
  /// The output of the last on-finish command.
  package var hookLog: Bytes { path.appending(path: Bytes("hook.log")) }
  /// The output of the last on-idle command.
  package var idleHookLog: Bytes { path.appending(path: Bytes("idle.log")) }
  /// The output of the last on-ask command.
  package var askHookLog: Bytes { path.appending(path: Bytes("ask.log")) }
  /// Damaged lines that compaction removed from the journal.
  package var damaged: Bytes { path.appending(path: Bytes("damaged")) }
  package var logs: Bytes { path.appending(path: Bytes("log")) }
  package var locks: Bytes { path.appending(path: Bytes("locks")) }
  var environments: Bytes { path.appending(path: Bytes("env")) }
  /// Copies of the standard input of jobs.
  var inputs: Bytes { path.appending(path: Bytes("input")) }

  /// The folders that change when the queue or the output of its jobs does.
  package var changing: [Bytes] { [path, logs] }

  var subfolders: [Bytes] { [logs, locks, environments, inputs] }

  /// Makes the folders in it that are missing; returns whether there was one.
  package func makeSubfolders() throws(Failure) -> Bool {
    var isNew = false
    for part in subfolders { isNew = try FileSystem.makeFolder(part) || isNew }
    return isNew
  }

  /// Locked by the job itself, while any of its processes holds the descriptor.
  package func jobLock(_ id: JobID) -> Bytes { locks.appending(path: Bytes(String(id).utf8)) }

  /// Locked by the keeper of the job's terminal, which writes its process ID to it.
  package func keeperLock(_ id: JobID) -> Bytes { jobLock(id) + Bytes(".keeper") }

  /// The socket at which the keeper of the job's terminal serves attached ones.
  package func socket(_ id: JobID) -> Bytes { jobLock(id) + Bytes(".socket") }

  /// The file in which the launcher of the job reports.
  package func launcherResult(_ id: JobID) -> Bytes { jobLock(id) + Bytes(".result") }

  /// The log that ends with this attempt, while followers need it and ``log(_:)`` is another one or
  /// cut.
  func keptLog(_ id: JobID, _ attempt: Int) -> Bytes { jobLock(id) + Bytes(".\(attempt).log".utf8) }

  func inputCopy(_ id: JobID) -> Bytes { inputs.appending(path: Bytes(String(id).utf8)) }

  package func log(_ id: JobID) -> Bytes { logs.appending(path: Bytes(String(id).utf8)) }

  /// The log that replaces one that is too long.
  package var newLog: Bytes { logs.appending(path: Bytes("new")) }

  /// The variables that serialq adds to a job's environment.
  package func variables(of id: JobID) -> [Bytes] {
    [Bytes("SERIALQ_JOB=\(id)".utf8), Bytes("SERIALQ_QUEUE=\(name)".utf8)]
  }

  /// Does `work` on files in it; names the queue, and no path, if it was removed before.
  package func whileItExists<Result>(
    _ work: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    do throws(Failure) { return try work() } catch {
      throw error.number == ENOENT ? removed : error
    }
  }

  var removed: Failure {
    Failure(
      "queue \(name)", "it was removed at this moment",
      next: "Nothing was changed. Run the command again.")
  }

  /// Fails if another program or user has put files into it: it may be another folder.
  package func requireOwn() throws(Failure) {
    let own = Set(
      subfolders + [
        journal, newJournal, lock, runnerLock, waiters, followersLock, runnerLog, hookLog,
        idleHookLog, askHookLog, damaged, path.appending(path: Bytes("edited")),
      ])
    let foreign = try FileSystem.names(in: path).filter {
      !own.contains(path.appending(path: $0)) && !$0.starts(with: Bytes("edit-"))
    }.sorted { $0.lexicographicallyPrecedes($1) }
    guard let first = foreign.first else { return }
    let rest = foreign.count == 1 ? "" : " and \(foreign.count - 1) more"
    throw Failure(
      path.text, "it has files that are not of a queue: \(first.text)\(rest)",
      next: """
        Nothing was changed. Move them away, use another name with -q, or set SERIALQ_DIR to a folder that \
        only serialq uses.
        """)
  }

  /// Removes the queue; under the lock of its journal, which must have no jobs, after
  /// ``requireOwn()``.
  package func remove() throws(Failure) {
    // Not the name of a queue: no other process reads one that is partially removed.
    let away = spool.appending(path: Bytes(".removed-\(name)-\(Machine.processID())".utf8))
    try FileSystem.rename(path, to: away)
    // Ignores errors: what remains is not a queue.
    for part in subfolders + [path] {
      let folder = away + part.dropFirst(path.count)
      for file in (try? FileSystem.names(in: folder)) ?? [] {
        try? FileSystem.remove(folder.appending(path: file))
      }
      try? FileSystem.removeFolder(folder)
    }
    do throws(Failure) {
      try FileSystem.flush(folder: spool)
    } catch {
      throw error.adding("The queue is removed despite this error; a power loss could restore it.")
    }
  }
}
