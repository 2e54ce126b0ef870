import SerialqSystem

/// The folder that contains the folders of all queues.
///
/// Rejects a folder that another user could have created or can write to: the commands in a queue
/// run with the rights of its owner.
package struct Spool: Equatable, Sendable {
  package let path: Bytes

  init(path: Bytes) {
    let slash = UInt8(ascii: "/")
    var path = path
    // `link/` and `link/.` name the target of a symbolic link, for `lstat(2)` too.
    while path.count > 1, path.last == slash || path.suffix(2) == [slash, UInt8(ascii: ".")] {
      path.removeLast()
    }
    self.path = path
  }

  /// Uses `$SERIALQ_DIR`, else `$XDG_STATE_HOME/serialq`, else `$HOME/.local/state/serialq`.
  ///
  /// An empty variable counts as unset.
  package init(environment: (StaticString) -> Bytes?) throws(Failure) {
    func absolute(_ name: StaticString) throws(Failure) -> Bytes? {
      guard let value = environment(name), !value.isEmpty else { return nil }
      guard value.first == UInt8(ascii: "/") else {
        throw Failure(
          "\(name) is \(value.text)", "not an absolute path",
          next: "A relative path would mean different queues in each folder. Use an absolute path.")
      }
      // The paths in it must fit too; the longest name files of keepers.
      let longest = FileSystem.longestPath - 200
      guard value.count <= longest else {
        throw Failure(
          "\(name)", "it has \(value.count) bytes, more than the system allows in a path",
          next: "Use a path of at most \(longest) bytes.")
      }
      return value
    }
    if let path = try absolute("SERIALQ_DIR") {
      self.init(path: path)
    } else if let state = try absolute("XDG_STATE_HOME") {
      self.init(path: state.appending(path: Bytes("serialq")))
    } else if let home = try absolute("HOME") {
      self.init(path: home.appending(path: Bytes(".local/state/serialq")))
    } else {
      throw Failure(
        "finding the queues", "HOME is not set", next: "Set HOME, or set SERIALQ_DIR to a folder.")
    }
  }

  /// The folder of the queue with this name, whether it exists or not; creates nothing.
  package func folder(named name: String) throws(Failure) -> QueueFolder {
    guard QueueName.fault(in: Bytes(name.utf8)) == nil else {
      throw Failure(
        "queue \(name)", "not a valid queue name",
        next: "Use 1 to 64 letters, digits, '.', '_' and '-'; do not start with '.' or '-'.")
    }
    return QueueFolder(name: name, path: path.appending(path: Bytes(name.utf8)))
  }

  /// The queue with this name, or nil if it does not exist; creates nothing.
  package func existingQueue(named name: String) throws(Failure) -> QueueFolder? {
    let folder = try folder(named: name)
    guard try exists(), try Spool.isSafe(folder.path) else { return nil }
    for part in folder.subfolders { _ = try Spool.isSafe(part) }
    return folder
  }

  /// The queue with this name; fails if it does not exist.
  package func queue(named name: String) throws(Failure) -> QueueFolder {
    if let folder = try existingQueue(named: name) { return folder }
    throw Failure("queue \(name)", "no such queue", next: "See all with: \(advised("queues"))")
  }

  /// Creates the folder of all queues if necessary.
  package func make() throws(Failure) {
    _ = try Spool.hasSafeAncestors(path, creating: true)
    _ = try Spool.make(path, isSpool: true)
  }

  /// Whether the folder of all queues exists; fails if another user could exchange it.
  package func exists() throws(Failure) -> Bool {
    guard try Spool.hasSafeAncestors(path) else { return false }
    return try Spool.isSafe(path, isSpool: true)
  }

  /// The failure of a command that watches the folder of all queues when it is removed.
  package func removed() -> Failure {
    Failure(
      "the queues", "their folder \(path.text) was removed",
      next: "All jobs in it are lost; those that run continue.")
  }

  /// The queue with this name, created if necessary and durable on return, and whether it is new.
  package func makeQueue(
    named name: String
  ) throws(Failure) -> (folder: QueueFolder, isNew: Bool) {
    let folder = try folder(named: name)
    try make()
    let isNew = try Spool.make(folder.path)
    try folder.whileItExists { () throws(Failure) in
      for part in folder.subfolders {
        guard try Spool.make(part), !isNew else { continue }
        // It can be a folder of other files.
        do throws(Failure) { try folder.requireOwn() } catch {
          try? FileSystem.removeFolder(part)
          throw error
        }
      }
    }
    return (folder, isNew)
  }

  /// The folder for the sockets of connections to other machines, created if necessary.
  ///
  /// Not a queue: no name of a queue starts with a dot.
  package func makeConnections() throws(Failure) -> Bytes {
    try make()
    let folder = path.appending(path: Bytes(".ssh"))
    _ = try Spool.make(folder)
    return folder
  }

  /// Creates a folder outside of the spool if necessary; fails if others can write to it.
  package static func makePrivate(_ path: Bytes) throws(Failure) {
    _ = try hasSafeAncestors(path, creating: true)
    _ = try make(path)
  }

  /// The names of all queues, in byte order; creates nothing.
  ///
  /// Includes symbolic links, which no command uses: one may stand where a queue was.
  package func queueNames() throws(Failure) -> [String] {
    guard try exists() else { return [] }
    var found: [String] = []
    for name in try FileSystem.names(in: path) where QueueName.fault(in: name) == nil {
      let folder = try folder(named: name.text)
      let status = try FileSystem.status(of: folder.path)
      guard status?.kind == .folder || status?.kind == .link else { continue }
      let hasJournal = (try? FileSystem.status(of: folder.journal) != nil) ?? true
      // Not another folder, if SERIALQ_DIR has them too.
      if hasJournal || (try? folder.requireOwn()) != nil { found.append(folder.name) }
    }
    return found.sorted()
  }

  /// Creates a folder, durable before anything is created in it; returns false if it exists.
  private static func make(_ path: Bytes, isSpool: Bool = false) throws(Failure) -> Bool {
    if try isSafe(path, isSpool: isSpool) { return false }
    try makeDurably(path)
    // Another process may have created something else at this path.
    _ = try isSafe(path, isSpool: isSpool)
    return true
  }

  /// Whether the folders above the path exist; fails if another user could exchange one of them, or
  /// a link among them.
  ///
  /// After that only root and this user can change what the path names, so that later calls may use
  /// it. Creates missing folders if `creating`.
  private static func hasSafeAncestors(
    _ path: Bytes, creating: Bool = false
  ) throws(Failure) -> Bool {
    let slash = UInt8(ascii: "/")
    var folder: Bytes = [slash]
    var rest = Array(parent(of: path).split(separator: slash).reversed())
    var links = 0
    while let name = rest.popLast().map({ Bytes($0) }) {
      if name == Bytes(".") { continue }
      if name == Bytes("..") {
        folder = parent(of: folder)
        continue
      }
      let next = folder.appending(path: name)
      guard let status = try status(of: next, creating: creating) else { return false }
      guard try FileSystem.trusts(status.owner) else { throw foreign(next, status) }
      if status.kind == .link {
        links += 1
        guard links <= 40, let target = FileSystem.target(of: next) else {
          throw Failure("open", ELOOP, "resolving", path)
        }
        rest += target.split(separator: slash).reversed()
        if target.first == slash { folder = [slash] }
        continue
      }
      guard status.kind == .folder else { throw notFolder(next, status) }
      // In a sticky folder, such as /tmp, users can exchange only what is theirs.
      guard status.mode & 0o022 == 0 || status.mode & 0o1000 != 0 else {
        throw shared(next, status, "queues below it", isSpool: true)
      }
      folder = next
    }
    return true
  }

  /// The status of a path in a safe folder, once created if `creating`; nil if it does not exist.
  private static func status(of path: Bytes, creating: Bool) throws(Failure) -> FileStatus? {
    do throws(Failure) {
      if let status = try FileSystem.status(of: path) { return status }
    } catch {
      throw error.blocked(by: parent(of: path))
    }
    guard creating else { return nil }
    try makeDurably(path)
    return try FileSystem.status(of: path)
  }

  /// Creates a folder unless it exists.
  ///
  /// First flushes the entry of the parent folder: a process that died before its flush may have
  /// created it, and nothing in it would be durable.
  private static func makeDurably(_ path: Bytes) throws(Failure) {
    let above = parent(of: path)
    do throws(Failure) {
      try FileSystem.flush(folder: parent(of: above))
    } catch {
      // Without access to that folder, serialq is unlikely to have created anything in it.
      guard [EACCES, EPERM, EROFS, EINVAL].contains(error.number) else { throw error }
    }
    do throws(Failure) {
      if try FileSystem.makeFolder(path) { try FileSystem.flush(folder: above) }
    } catch {
      throw error.blocked(by: above)
    }
  }

  private static func parent(of path: Bytes) -> Bytes {
    let slash = UInt8(ascii: "/")
    var end = path.count
    while end > 0, path[end - 1] != slash { end -= 1 }
    while end > 1, path[end - 1] == slash { end -= 1 }
    return Bytes(path[..<max(end, 1)])
  }

  /// Whether the folder exists; fails if another user owns it or can write to it.
  ///
  /// `isSpool` is false for a folder in it, which SERIALQ_DIR cannot replace.
  private static func isSafe(_ path: Bytes, isSpool: Bool = false) throws(Failure) -> Bool {
    guard let status = try status(of: path, creating: false) else { return false }
    switch status.kind {
    case .folder: break
    case .link:
      throw Failure(
        path.text, "is a symbolic link, which could be redirected",
        next: isSpool
          ? "\(isPersonal(path, status) ? "Remove it, or set" : "Set") SERIALQ_DIR to its target."
          : "Remove it, or move its target here if all commands in it are yours.")
    case .file, .socket, .other: throw notFolder(path, status)
    }
    // Such as /tmp, or / of root: a change of its mode would break other programs.
    guard status.mode & 0o1000 == 0, path != Bytes("/") else {
      let own = ShellQuote.word(path.appending(path: Bytes("serialq-\(Machine.userID())".utf8)))
      throw Failure(
        path.text, "it is a folder that users share (mode \(String(status.mode, radix: 8)))",
        next: "Choose a folder of your own, for example: export SERIALQ_DIR=\(own)")
    }
    guard status.owner == Machine.userID() else { throw foreign(path, status) }
    guard status.mode & 0o022 == 0 else { throw shared(path, status, isSpool: isSpool) }
    return true
  }

  /// Whether the user can change or move it without harm to other programs: it is the user's, and
  /// not a part of the system, which root owns too.
  private static func isPersonal(_ path: Bytes, _ status: FileStatus) -> Bool {
    guard status.owner == Machine.userID() else { return false }
    let places = [Machine.variable("HOME") ?? [], Bytes("/root"), Bytes("/tmp"), Bytes("/var/tmp")]
    return status.owner != 0
      || places.contains { $0.count > 1 && path.starts(with: $0 + [UInt8(ascii: "/")]) }
  }

  private static func notFolder(_ path: Bytes, _ status: FileStatus) -> Failure {
    Failure(
      path.text, "is not a folder",
      next: isPersonal(path, status)
        ? "Move it away, or set SERIALQ_DIR to a folder."
        : "Set SERIALQ_DIR to a folder of your own.",
      number: ENOTDIR)
  }

  private static func foreign(_ path: Bytes, _ status: FileStatus) -> Failure {
    let (user, isRoot) = (Machine.userID(), Machine.userID() == 0)
    let other = status.owner == 65_534 ? " (or one outside of this user namespace)" : ""
    return Failure(
      path.text, "belongs to user \(status.owner)\(other), and you are user \(user)",
      next: "Set SERIALQ_DIR to a folder of your own\(isRoot ? ", or use sudo -H" : "").")
  }

  private static func shared(
    _ path: Bytes, _ status: FileStatus, _ content: String = "commands in it", isSpool: Bool
  ) -> Failure {
    Failure(
      path.text,
      "others can write to it (mode \(String(status.mode, radix: 8)), owner \(status.owner))",
      next: !isSpool || isPersonal(path, status)
        ? "If all \(content) are yours, run: chmod go-w \(ShellQuote.word(path))"
        : "Set SERIALQ_DIR to a folder of your own.")
  }
}

extension Failure {
  /// Names the folder that denied a call on a path in it, which itself may be out of reach.
  fileprivate func blocked(by folder: Bytes) -> Failure {
    guard number == EACCES || number == EPERM else { return self }
    return adding("Set SERIALQ_DIR, or check its folder: ls -ld \(ShellQuote.word(folder))")
  }
}
