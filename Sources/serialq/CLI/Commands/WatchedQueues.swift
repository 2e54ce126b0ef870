import SerialqQueue
import SerialqSystem

/// What a command keeps of a queue that it watches.
protocol WatchedQueue {
  var folder: QueueFolder { get }
  /// As of the last read.
  var queue: Queue { get }
}

/// The selected queues, read again after each change, by one watch over the folders of all of them.
///
/// Watches the spool too while a selected queue can appear in it: with `--all`, and until the one
/// queue exists. With one queue, an error ends the command. With all, it is reported once, and the
/// others are watched nevertheless.
struct WatchedQueues<Member: WatchedQueue> {
  private let spool: Spool
  private let queues: QueueSelection
  /// Whether the logs are watched too, by inotify: a signal for each write to a log would cost
  /// more.
  private let hasLogs: Bool
  private var known: Set<String> = []
  private var folders: [QueueFolder] = []
  private var watch: FileWatch
  /// In the order of their names.
  private(set) var members: [Member]
  /// Why queues cannot be read, already reported.
  private(set) var faults: [String: Failure] = [:]

  /// Starts with `members`; the other queues are found by
  /// ``update(making:checking:reading:reporting:)``.
  ///
  /// Makes the spool if necessary, but no queue.
  init(
    _ spool: Spool, _ queues: QueueSelection, logs: Bool, members: [Member] = []
  ) throws(Failure) {
    self.spool = spool
    self.queues = queues
    hasLogs = logs
    self.members = members
    try spool.make()
    watch = try FileWatch(folders: [spool.path], removalOf: spool.path, endsAtOnce: !logs)
  }

  /// Becomes readable after a change.
  var descriptor: Int32 { watch.descriptor }

  /// The queues that can be read.
  var readable: [Member] { members.filter { faults[$0.folder.name] == nil } }

  /// Makes a member of each queue that has appeared, checks these, and reads all.
  ///
  /// Fails if `check` fails, even with all queues.
  mutating func update(
    making make: (QueueFolder) throws(Failure) -> Member,
    checking check: (Member) throws(Failure) -> Void = { _ in },
    reading read: (inout Member) throws(Failure) -> Void,
    reporting report: (Failure) -> Void
  ) throws(Failure) {
    var found: [(String, Failure)] = []
    var new: [Member] = []
    for folder in try drain({ found.append(($0, $1)) }) {
      if members.contains(where: { $0.folder == folder }) { continue }
      do throws(Failure) {
        new.append(try make(folder))
      } catch {
        found.append((folder.name, error))
      }
    }
    for member in new { try check(member) }
    members += new
    members.sort { $0.folder.name < $1.folder.name }
    var removed: [QueueFolder] = []
    for index in members.indices {
      let folder = members[index].folder
      do throws(Failure) {
        try read(&members[index])
        faults[folder.name] = nil
      } catch {
        // Forgotten, so that it is found again if it is made again.
        let isRemoved = try forgetRemoved(folder)
        if isRemoved { removed.append(folder) }
        if isRemoved, members[index].queue.jobs.isEmpty {
          // By `queues --remove`: nothing is lost.
          faults[folder.name] = nil
        } else {
          found.append((folder.name, error))
        }
      }
    }
    members.removeAll { removed.contains($0.folder) }
    for (name, fault) in found where faults[name] != fault {
      if queues != .all { throw fault }
      report(fault)
      faults[name] = fault
    }
  }

  /// Consumes the pending changes, and returns the queues that have appeared since the last call.
  ///
  /// Calls `fault` for a queue that cannot be watched, once. Fails if the spool was removed.
  private mutating func drain(
    _ fault: (String, Failure) -> Void
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
    _ fault: (String, Failure) -> Void
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
  private mutating func forgetRemoved(_ folder: QueueFolder) throws(Failure) -> Bool {
    guard queues == .all, try spool.existingQueue(named: folder.name) == nil else { return false }
    known.remove(folder.name)
    folders.removeAll { $0 == folder }
    return true
  }

  private func names() throws(Failure) -> [String] {
    guard try spool.exists() else { throw spool.removed() }
    return try queues.names(in: spool)
  }
}
