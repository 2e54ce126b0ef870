/// The processes that hold a lock of `flock(2)`, as far as `proc(5)` shows them.
package struct LockHolders: Equatable, Sendable {
  /// Processes with an open descriptor that holds the lock.
  package var known: [ProcessStatus] = []
  /// Processes whose descriptors this user cannot read, of other users for example.
  package var hidden: [ProcessStatus] = []
  /// Those of the known ones that descend from the job's process.
  package var descendants: [ProcessStatus] = []

  /// The hidden processes in the sessions of the known ones or in this session, and the hidden
  /// descendants of all of these and of the leader of the session.
  package func hidden(relatedTo session: Int32?) -> [ProcessStatus] {
    // Kernel threads are in session 0.
    let sessions = Set(known.map(\.session) + [session ?? 0]).subtracting([0])
    var parents = Set(known.map(\.pid) + [session ?? 0]).subtracting([0])
    var related: [ProcessStatus] = []
    var others = hidden
    while true {
      let found = others.filter { sessions.contains($0.session) || parents.contains($0.parent) }
      if found.isEmpty { return related }
      related += found
      parents.formUnion(found.map(\.pid))
      others.removeAll { process in found.contains { $0.identity == process.identity } }
    }
  }
}

extension LockHolders {
  /// Finds the processes, except this one, that hold the lock of a file; nil without `proc(5)`.
  ///
  /// A process that opened the file itself does not count: `/proc/PID/fdinfo` shows the lock, and
  /// which process acquired it, only for descriptors that share the open file. O(open files of all
  /// processes of the user).
  ///
  /// Fails by a shortage, in which a process that was not seen may hold the lock.
  package static func find(
    of file: LockFile, and descent: (of: Descent, leader: Int32)? = nil
  ) throws(Failure) -> LockHolders? {
    #if os(Linux)
      let names = try Failure.unlessShort { () throws(Failure) in
        try FileSystem.names(in: Bytes("/proc"))
      }
      guard let names else { return nil }
      let own = Machine.processID()
      var found = LockHolders()
      var all: [ProcessStatus] = []
      for pid in names.compactMap({ Int32($0.text) }) where pid != own {
        let hold = try file.hold(of: pid)
        guard hold != .none || descent != nil, let process = try ProcessStatus.found(pid) else {
          continue
        }
        if descent != nil { all.append(process) }
        switch hold {
        case .held: found.known.append(process)
        case .hidden: found.hidden.append(process)
        case .none: break
        }
      }
      if let (descent, leader) = descent {
        found.descendants = descent.processes(of: leader, among: all)
        let ids = Set(found.descendants.map(\.identity))
        found.hidden.removeAll { ids.contains($0.identity) }
        found.known = found.known.filter { !ids.contains($0.identity) } + found.descendants
      }
      return found
    #else
      return nil
    #endif
  }
}

/// A lock file that processes inherit.
package struct LockFile: Equatable, Sendable {
  package let identity: FileStatus.Identity
  /// The last three parts of the path, to find it among the open files of a process.
  private let end: Bytes
  /// The descriptor under which processes inherit it.
  private let descriptor: Int32

  /// Nil if there is no such file, and none that the process `pid` inherited before it was removed.
  package init?(_ path: Bytes, inheritedAs descriptor: Int32, by pid: Int32? = nil) {
    let slash = UInt8(ascii: "/")
    let end = Bytes(path.split(separator: slash).suffix(3).flatMap { [slash] + $0 })
    var found = (try? FileSystem.status(of: path))?.identity
    if found == nil, let pid {
      let file = Bytes("/proc/\(pid)/fd/\(descriptor)".utf8)
      if let target = FileSystem.target(of: file), LockFile.isPath(target, endingIn: end) {
        found = (try? FileSystem.status(of: file, followingLinks: true))?.identity
      }
    }
    guard let identity = found else { return nil }
    self.identity = identity
    self.descriptor = descriptor
    self.end = end
  }

  /// Whether a process that was found before still counts.
  package func isHeldOrHidden(_ pid: Int32) throws(Failure) -> Bool { try hold(of: pid) != .none }

  /// Whether the process holds the lock; false without `proc(5)`, and in a shortage.
  package func isHeld(by pid: Int32) -> Bool { (try? hold(of: pid)) == .held }

  enum Hold { case held, hidden, none }

  /// Whether the process holds the lock.
  func hold(of pid: Int32) throws(Failure) -> Hold {
    // The usual descriptor first, which saves the list of the others.
    if try isHeld(by: pid, as: Bytes("\(descriptor)".utf8)) { return .held }
    do throws(Failure) {
      for name in try FileSystem.names(in: Bytes("/proc/\(pid)/fd".utf8)) {
        // Reads the link first: `stat(2)` of a file on a network can block.
        let path = Bytes("/proc/\(pid)/fd/\(name.text)".utf8)
        guard let target = FileSystem.target(of: path), LockFile.isPath(target, endingIn: end)
        else { continue }
        if try isHeld(by: pid, as: name) { return .held }
      }
    } catch {
      if error.isShortage { throw error }
      return error.number == EACCES || error.number == EPERM ? .hidden : .none
    }
    return .none
  }

  /// Whether a line of `/proc/PID/fdinfo` shows an exclusive lock that another process acquired.
  ///
  /// A process that waits for the end of the job acquires the lock itself.
  package static func isInherited(_ line: Bytes, by pid: Int32) -> Bool {
    // lock:   1: FLOCK  ADVISORY  WRITE 4992 fe:00:16237508 0 EOF
    let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
      .map { Bytes($0).text }
    return words.count > 5 && words[0] == "lock:" && words[2] == "FLOCK" && words[4] == "WRITE"
      && words[5] != "\(pid)"
  }

  private static func isPath(_ target: Bytes, endingIn end: Bytes) -> Bool {
    let deleted = Bytes(" (deleted)")
    let isDeleted = target.suffix(deleted.count).elementsEqual(deleted)
    return target.dropLast(isDeleted ? deleted.count : 0).suffix(end.count).elementsEqual(end)
  }

  private func isHeld(by pid: Int32, as name: Bytes) throws(Failure) -> Bool {
    let path = Bytes("/proc/\(pid)/fd/\(name.text)".utf8)
    guard let status = try? FileSystem.status(of: path, followingLinks: true),
      status.identity == identity
    else { return false }
    let information = Bytes("/proc/\(pid)/fdinfo/\(name.text)".utf8)
    let text = try Failure.unlessShort { () throws(Failure) in
      try FileDescriptor.openIfThere(information, .read, followingLinks: true)?.readAll()
    }
    return text?.split(separator: UInt8(ascii: "\n")).contains { line in
      LockFile.isInherited(Bytes(line), by: pid)
    } ?? false
  }
}
