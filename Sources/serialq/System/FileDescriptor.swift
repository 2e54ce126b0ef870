/// An open file, closed when the last reference is released.
///
/// A lock on it lasts as long as the descriptor, so the holder must keep it in a property. Swift
/// may release a local variable after its last use, before the end of its scope.
package final class FileDescriptor: Sendable {
  package let raw: Int32

  /// Takes ownership of a descriptor that no other code closes.
  package init(owning raw: Int32) { self.raw = raw }

  deinit {
    // Not retried after EINTR: the number is already free, and another thread may have reused it.
    _ = close(raw)
  }

  /// Opens a file by `open(2)`, always close-on-exec, so that jobs do not inherit it.
  ///
  /// Creates files with mode 0600. Unless `followingLinks` is set, as for a path that the user
  /// gave, the file must be private to this user; see ``FileFault``.
  package static func open(
    _ path: Bytes,
    _ access: Access,
    followingLinks: Bool = false
  ) throws(SystemError) -> FileDescriptor {
    let flags = access.flags | O_CLOEXEC
    guard !followingLinks else { return FileDescriptor(owning: try openFile(path, flags)) }
    // Truncated below, after the check of the owner. O_NONBLOCK keeps a fifo from blocking the
    // open.
    let file = FileDescriptor(
      owning: try FileFault.named {
        () throws(SystemError) in
        try openFile(path, flags & ~O_TRUNC | O_NOFOLLOW | O_NONBLOCK)
      })
    try file.becomePrivate(for: access)
    if access.contains(.truncate) { try file.truncate(to: 0) }
    return file
  }

  /// Opens a file as ``open(_:_:followingLinks:)`` does; returns nil if it does not exist.
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

  /// Duplicates standard input, by `fcntl(2)` with F_DUPFD_CLOEXEC.
  package static func standardInput() throws(SystemError) -> FileDescriptor {
    FileDescriptor(
      owning: try retrying("fcntl") { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) })
  }

  /// How to open a file.
  package struct Access: OptionSet {
    package var rawValue: Int32

    // Inlined: otherwise every call from another module resolves the generic OptionSet initializer
    // at run time.
    @inlinable package init(rawValue: Int32) { self.rawValue = rawValue }

    @inlinable package init(arrayLiteral elements: Access...) {
      var all: Int32 = 0
      elements.forEach { all |= $0.rawValue }
      rawValue = all
    }

    @inlinable package static var read: Access { Access(rawValue: 0) }
    @inlinable package static var readWrite: Access { Access(rawValue: 1) }
    /// Every write goes to the end, even when another process has moved it.
    @inlinable package static var append: Access { Access(rawValue: 2) }
    /// Creates the file if it does not exist.
    @inlinable package static var create: Access { Access(rawValue: 4) }
    /// Fails if the file exists.
    @inlinable package static var exclusive: Access { Access(rawValue: 8) }
    @inlinable package static var truncate: Access { Access(rawValue: 16) }
    static let folder = Access(rawValue: 32)
    // Built here once: building the union in another module costs `add` a generic lookup at run
    // time.

    /// A lock file, created if it does not exist.
    package static let lockFile: Access = [.readWrite, .create]
    /// An empty file: created, or truncated if it exists.
    package static let emptied: Access = [.readWrite, .create, .truncate]
    /// A file that is only appended to.
    package static let growing: Access = [.readWrite, .append]
    /// Write only; opening a fifo this way blocks until it has a reader.
    static let write = Access(rawValue: 64)

    /// Whether this access can change the content.
    var isWriting: Bool { !isDisjoint(with: [.readWrite, .append, .truncate, .write]) }

    fileprivate var flags: Int32 {
      (contains(.readWrite) || contains(.append) ? O_RDWR : contains(.write) ? O_WRONLY : O_RDONLY)
        | (contains(.append) ? O_APPEND : 0) | (contains(.create) ? O_CREAT : 0)
        | (contains(.exclusive) ? O_EXCL : 0) | (contains(.truncate) ? O_TRUNC : 0)
        | (contains(.folder) ? O_DIRECTORY : 0)
    }
  }

  /// Acquires the exclusive lock of `flock(2)`; blocks until it is free.
  package func lock() throws(SystemError) {
    _ = try retrying("flock") { flock(raw, LOCK_EX) }
  }

  /// Acquires the shared lock of `flock(2)`; blocks until no process holds the exclusive one.
  package func lockShared() throws(SystemError) {
    _ = try retrying("flock") { flock(raw, LOCK_SH) }
  }

  /// Tries to acquire the exclusive lock of `flock(2)` without blocking; returns whether it did.
  package func tryLock() throws(SystemError) -> Bool {
    try tryLock(LOCK_EX)
  }

  /// Tries to acquire the shared lock of `flock(2)` without blocking; returns whether it did.
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

  /// Releases the lock of `flock(2)`, even if other processes share the open file.
  package func unlock() {
    _ = flock(raw, LOCK_UN)
  }
}

/// The variadic `open(2)`, which the static method of the same name hides.
private func openFile(_ path: Bytes, _ flags: Int32) throws(SystemError) -> Int32 {
  try path.withCPath { path in
    Result { () throws(SystemError) in
      try retrying("open") { open(path, flags, 0o600 as mode_t) }
    }
  }.get()
}
