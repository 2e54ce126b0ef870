/// An open file, closed when the last reference goes.
///
/// A lock taken on it lasts as long as the descriptor, so a holder keeps it in a property: a local
/// variable may be released after its last use, before the end of its scope.
package final class FileDescriptor: Sendable {
  package let raw: Int32

  /// Takes over a descriptor that nobody else closes.
  package init(owning raw: Int32) { self.raw = raw }

  deinit {
    // Not repeated after EINTR: the number is free by then, and another thread may have it already.
    _ = close(raw)
  }

  /// Opens a file by `open(2)`, always close-on-exec, so that no job inherits it by accident.
  ///
  /// Files are made 0600. Unless `followingLinks`, as for a file that somebody names, it has to be
  /// a file of this user's alone; see ``FileFault``.
  package static func open(
    _ path: Bytes,
    _ access: Access,
    followingLinks: Bool = false
  ) throws(SystemError) -> FileDescriptor {
    let flags = access.flags | O_CLOEXEC
    guard !followingLinks else { return FileDescriptor(owning: try openFile(path, flags)) }
    // Emptied below, once it is known whose it is; and a fifo must not hold this up for ever.
    let file = FileDescriptor(
      owning: try FileFault.named {
        () throws(SystemError) in
        try openFile(path, flags & ~O_TRUNC | O_NOFOLLOW | O_NONBLOCK)
      })
    try file.becomePrivate(for: access)
    if access.contains(.truncate) { try file.truncate(to: 0) }
    return file
  }

  /// Opens a file as ``open(_:_:followingLinks:)`` does, or returns nil when there is none.
  package static func openIfThere(
    _ path: Bytes,
    _ access: Access,
    followingLinks: Bool = false
  ) throws(SystemError) -> FileDescriptor? {
    do throws(SystemError) {
      return try open(path, access, followingLinks: followingLinks)
    } catch {
      if error.code == ENOENT { return nil }
      throw error
    }
  }

  /// Another descriptor for standard input, by `dup(2)`.
  package static func standardInput() throws(SystemError) -> FileDescriptor {
    FileDescriptor(
      owning: try retrying("fcntl") { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) })
  }

  /// What a file is opened for.
  package struct Access: OptionSet {
    package var rawValue: Int32

    // Inlined, or every call from another layer would look up at run time how a set is made of a list.
    @inlinable package init(rawValue: Int32) { self.rawValue = rawValue }

    @inlinable package init(arrayLiteral elements: Access...) {
      var all: Int32 = 0
      elements.forEach { all |= $0.rawValue }
      rawValue = all
    }

    @inlinable package static var read: Access { Access(rawValue: 0) }
    @inlinable package static var readWrite: Access { Access(rawValue: 1) }
    /// Every write goes to the end, wherever another process has moved it.
    @inlinable package static var append: Access { Access(rawValue: 2) }
    /// Makes the file when it is not there.
    @inlinable package static var create: Access { Access(rawValue: 4) }
    /// Fails when the file is there.
    @inlinable package static var exclusive: Access { Access(rawValue: 8) }
    @inlinable package static var truncate: Access { Access(rawValue: 16) }
    static let folder = Access(rawValue: 32)
    // Made here once: in another layer, the list of the parts costs `add` a look-up at run time.

    /// A file that is there to be locked, made when it is not there.
    package static let lockFile: Access = [.readWrite, .create]
    /// A file that begins empty, whatever was there.
    package static let emptied: Access = [.readWrite, .create, .truncate]
    /// A file that only grows.
    package static let growing: Access = [.readWrite, .append]
    /// To write alone: whoever opens a fifo so waits for its reader.
    static let write = Access(rawValue: 64)

    /// Whether what is in the file can be changed.
    var isWriting: Bool { !isDisjoint(with: [.readWrite, .append, .truncate, .write]) }

    fileprivate var flags: Int32 {
      (contains(.readWrite) || contains(.append) ? O_RDWR : contains(.write) ? O_WRONLY : O_RDONLY)
        | (contains(.append) ? O_APPEND : 0) | (contains(.create) ? O_CREAT : 0)
        | (contains(.exclusive) ? O_EXCL : 0) | (contains(.truncate) ? O_TRUNC : 0)
        | (contains(.folder) ? O_DIRECTORY : 0)
    }
  }

  /// Waits for the exclusive lock of `flock(2)`.
  package func lock() throws(SystemError) {
    _ = try retrying("flock") { flock(raw, LOCK_EX) }
  }

  /// Waits for the shared lock of `flock(2)`.
  package func lockShared() throws(SystemError) {
    _ = try retrying("flock") { flock(raw, LOCK_SH) }
  }

  /// Takes the exclusive lock of `flock(2)` if nobody else has it, and says whether it did.
  package func tryLock() throws(SystemError) -> Bool {
    try tryLock(LOCK_EX)
  }

  /// Takes the shared lock of `flock(2)` if nobody has the exclusive one, and says whether it did.
  package func tryLockShared() throws(SystemError) -> Bool {
    try tryLock(LOCK_SH)
  }

  private func tryLock(_ kind: Int32) throws(SystemError) -> Bool {
    do throws(SystemError) {
      _ = try retrying("flock") { flock(raw, kind | LOCK_NB) }
      return true
    } catch {
      if error.code == EWOULDBLOCK { return false }
      throw error
    }
  }

  /// Gives the lock of `flock(2)` back, whoever else holds the same open file.
  package func unlock() {
    _ = flock(raw, LOCK_UN)
  }
}

/// The variadic `open(2)`, out of reach of the static method of the same name.
private func openFile(_ path: Bytes, _ flags: Int32) throws(SystemError) -> Int32 {
  try path.withCPath { path in
    Result { () throws(SystemError) in
      try retrying("open") { open(path, flags, 0o600 as mode_t) }
    }
  }.get()
}
