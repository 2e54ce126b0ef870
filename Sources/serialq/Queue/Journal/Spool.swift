import SerialqSystem

/// The folder that holds a folder for every queue.
///
/// Refuses a folder that somebody else could have put there or could write to: a queue is a list of
/// commands that run as its owner.
package struct Spool: Equatable, Sendable {
  let path: Bytes

  init(path: Bytes) { self.path = path }

  /// `$SERIALQ_DIR`, else `$XDG_STATE_HOME/serialq`, else `$HOME/.local/state/serialq`; an empty
  /// variable is as none.
  package init(environment: (StaticString) -> Bytes?) throws(Failure) {
    func absolute(_ name: StaticString) throws(Failure) -> Bytes? {
      guard let value = environment(name), !value.isEmpty else { return nil }
      guard value.first == UInt8(ascii: "/") else {
        throw Failure(
          "\(name) is \(value.text)", "not an absolute path",
          next: "A relative one would name another queue in every folder. Give it in full.")
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
        "finding the queues", "HOME is not set", next: "Set HOME, or SERIALQ_DIR to a folder.")
    }
  }

  /// Where the queue of this name is or would be; makes nothing.
  package func folder(named name: String) throws(Failure) -> QueueFolder {
    try queueFolder(named: Bytes(name.utf8))
  }

  /// The queue of this name, or nil when there is none; makes nothing.
  package func existingQueue(named name: Bytes) throws(Failure) -> QueueFolder? {
    let folder = try queueFolder(named: name)
    guard try Spool.isSafe(path), try Spool.isSafe(folder.path) else { return nil }
    for part in folder.parts { _ = try Spool.isSafe(part) }
    return folder
  }

  /// The queue of this name, made when there is none; what is made is durable on return.
  package func makeQueue(named name: Bytes) throws(Failure) -> QueueFolder {
    let folder = try queueFolder(named: name)
    try Spool.make(path)
    try Spool.make(folder.path)
    for part in folder.parts { try Spool.make(part) }
    return folder
  }

  /// The names of all queues, in byte order; makes nothing.
  package func queueNames() throws(Failure) -> [Bytes] {
    guard try Spool.isSafe(path) else { return [] }
    return try attempt("reading \(path.text)") { () throws(SystemError) in
      var found: [Bytes] = []
      for name in try FileSystem.names(in: path) where QueueName.fault(in: name) == nil {
        if try FileSystem.status(of: path.appending(path: name))?.kind == .folder {
          found.append(name)
        }
      }
      return found.sorted { $0.lexicographicallyPrecedes($1) }
    }
  }

  private func queueFolder(named name: Bytes) throws(Failure) -> QueueFolder {
    guard QueueName.fault(in: name) == nil else {
      throw Failure(
        "queue \(name.text)", "not a name for a queue",
        next: "Use 1 to 64 letters, digits, '.', '_' and '-', the first neither '.' nor '-'.")
    }
    return QueueFolder(name: name, path: path.appending(path: name))
  }

  /// Makes a folder and those above it, each durable before there is anything in it.
  private static func make(_ path: Bytes) throws(Failure) {
    if try isSafe(path) { return }
    try makeAncestors(parent(of: path))
    try attempt("making \(path.text)") { () throws(SystemError) in try makeDurably(path) }
    // Somebody may have been quicker, and not with a folder.
    _ = try isSafe(path)
  }

  /// The folders above the spool are the system's or the user's own affair: only made, never
  /// judged.
  private static func makeAncestors(_ path: Bytes) throws(Failure) {
    try attempt("making \(path.text)") { () throws(SystemError) in
      var missing: [Bytes] = []
      var next = path
      while next.count > 1, try FileSystem.status(of: next) == nil {
        missing.append(next)
        next = parent(of: next)
      }
      for folder in missing.reversed() { try makeDurably(folder) }
    }
  }

  /// Makes a folder unless it is there.
  ///
  /// First the folder above it is made sure of: it may have been made by a process that died before
  /// it could flush, and nobody can see that. So one that has something in it is durable.
  private static func makeDurably(_ path: Bytes) throws(SystemError) {
    let above = parent(of: path)
    do throws(SystemError) {
      try FileSystem.flush(folder: parent(of: above))
    } catch {
      // Whoever may not read there, or write, has hardly made anything there.
      guard [EACCES, EPERM, EROFS, EINVAL].contains(error.code) else { throw error }
    }
    if try FileSystem.makeFolder(path) { try FileSystem.flush(folder: above) }
  }

  private static func parent(of path: Bytes) -> Bytes {
    let slash = UInt8(ascii: "/")
    var end = path.count
    while end > 1, path[end - 1] == slash { end -= 1 }
    while end > 0, path[end - 1] != slash { end -= 1 }
    while end > 1, path[end - 1] == slash { end -= 1 }
    return Bytes(path[..<max(end, 1)])
  }

  /// Whether there is such a folder; fails when it is not one that only its user can write to.
  private static func isSafe(_ path: Bytes) throws(Failure) -> Bool {
    // A slash at the end would make lstat follow a link.
    var path = path
    while path.count > 1, path.last == UInt8(ascii: "/") { path.removeLast() }
    let found = try attempt("looking at \(path.text)") { () throws(SystemError) in
      try FileSystem.status(of: path)
    }
    guard let status = found else { return false }
    switch status.kind {
    case .folder: break
    case .link:
      throw Failure(
        path.text, "is a symbolic link, which somebody could turn to another place",
        next: "Remove it, or set SERIALQ_DIR to the folder itself.")
    case .file, .other:
      throw Failure(
        path.text, "is not a folder", next: "Move it away, or set SERIALQ_DIR to a folder.")
    }
    guard status.owner == geteuid() else {
      throw Failure(
        path.text, "belongs to user \(status.owner), and you are user \(geteuid())",
        next: "Set SERIALQ_DIR to a folder of your own.")
    }
    guard status.mode & 0o022 == 0 else {
      throw Failure(
        path.text,
        "others can write to it (mode \(String(status.mode, radix: 8)), owner \(status.owner))",
        next: "If all commands in it are yours: chmod go-w \(ShellQuote.word(path))")
    }
    return true
  }
}
