import SerialqQueue
import SerialqSystem

/// What a command keeps of a queue that it watches.
protocol WatchedQueue {
  var folder: QueueFolder { get }
  /// As of the last read.
  var queue: Queue { get }
}

/// The selected queues, read again after each change.
///
/// With one queue, an error ends the command. With all, it is reported once, and the others are
/// watched nevertheless.
struct WatchedQueues<Member: WatchedQueue> {
  private let queues: QueueSelection
  private var watch: QueuesWatch
  /// In the order of their names.
  private(set) var members: [Member]
  /// Why queues cannot be read, already reported.
  private(set) var faults: [Bytes: Failure] = [:]

  /// Starts with `members`; the other queues are found by
  /// ``update(making:checking:reading:reporting:)``.
  init(
    _ spool: Spool, _ queues: QueueSelection, logs: Bool, members: [Member] = []
  ) throws(Failure) {
    self.queues = queues
    self.members = members
    watch = try QueuesWatch(spool, queues, logs: logs)
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
    var found: [(Bytes, Failure)] = []
    var new: [Member] = []
    for folder in try watch.drain({ found.append(($0, $1)) }) {
      if members.contains(where: { $0.folder == folder }) { continue }
      do throws(Failure) {
        new.append(try make(folder))
      } catch {
        found.append((folder.name, error))
      }
    }
    for member in new { try check(member) }
    members += new
    members.sort { $0.folder.name.lexicographicallyPrecedes($1.folder.name) }
    var removed: [QueueFolder] = []
    for index in members.indices {
      let folder = members[index].folder
      do throws(Failure) {
        try read(&members[index])
        faults[folder.name] = nil
      } catch {
        // Forgotten, so that it is found again if it is made again.
        let isRemoved = try watch.forgetRemoved(folder)
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
}
