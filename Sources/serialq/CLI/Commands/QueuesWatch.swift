import SerialqQueue
import SerialqSystem

/// Wakes when a selected queue changes, by one watch over the folders of all of them.
///
/// Watches the spool too while a selected queue can appear in it: with `--all`, and until the one
/// queue exists.
struct QueuesWatch {
  private let spool: Spool
  private let queues: QueueSelection
  /// Whether the logs are watched too, by inotify: a signal for each write to a log would cost more.
  private let hasLogs: Bool
  private var known: Set<Bytes> = []
  private var folders: [QueueFolder] = []
  private var watch: FileWatch

  /// Makes the spool if necessary, but no queue.
  init(_ spool: Spool, _ queues: QueueSelection, logs: Bool) throws(Failure) {
    self.spool = spool
    self.queues = queues
    hasLogs = logs
    try spool.make()
    watch = try FileWatch(folders: [spool.path], removalOf: spool.path, endsAtOnce: !logs)
  }

  /// Becomes readable after a change.
  var descriptor: Int32 { watch.descriptor }

  /// Consumes the pending changes, and returns the queues that have appeared since the last call.
  ///
  /// Calls `fault` for a queue that cannot be watched, once. Fails if the spool was removed.
  mutating func drain(
    _ fault: (Bytes, Failure) -> Void = { _, _ in }
  ) throws(Failure) -> [QueueFolder] {
    watch.drain()
    var all: [QueueFolder] = []
    while queues == .all || folders.isEmpty {
      let found = try appeared(fault)
      if found.isEmpty { break }
      all += found
      folders += found
      // Before they are read, and the spool is read again: a change in between would be lost.
      try watchAgain()
    }
    return all
  }

  /// The queues that have appeared since the last call.
  private mutating func appeared(
    _ fault: (Bytes, Failure) -> Void
  ) throws(Failure) -> [QueueFolder] {
    var found: [QueueFolder] = []
    for name in try names() where known.insert(name).inserted {
      do throws(Failure) {
        guard try spool.existingQueue(named: name) != nil else {
          known.remove(name)
          continue
        }
        // Its subfolders may not exist yet.
        found.append(try spool.makeQueue(named: name).folder)
      } catch {
        if case .one = queues { throw error }
        fault(name, error)
      }
    }
    return found
  }

  private mutating func watchAgain() throws(Failure) {
    let changing = folders.flatMap { hasLogs ? $0.changing : [$0.path] }
    do throws(Failure) {
      watch =
        queues == .all
        ? try FileWatch(
          folders: [spool.path] + changing, removalOf: spool.path, endsAtOnce: !hasLogs)
        : try FileWatch(folders: changing, endsAtOnce: !hasLogs)
    } catch {
      throw try spool.exists() ? error : spool.removed()
    }
  }

  /// Stops watching a queue if it was removed, and returns whether it was; it may appear again.
  ///
  /// Only with `--all`: a command for one queue fails.
  mutating func forgetRemoved(_ folder: QueueFolder) throws(Failure) -> Bool {
    guard queues == .all, try spool.existingQueue(named: folder.name) == nil else { return false }
    known.remove(folder.name)
    folders.removeAll { $0 == folder }
    return true
  }

  private func names() throws(Failure) -> [Bytes] {
    guard try spool.exists() else { throw spool.removed() }
    switch queues {
    case .one(let name): return [Bytes(name.utf8)]
    case .all: return try spool.queueNames()
    }
  }
}
