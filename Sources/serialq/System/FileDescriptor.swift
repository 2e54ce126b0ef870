/// An open file, closed when the last reference is released.
///
/// A lock on it lasts as long as the descriptor, so the holder must keep it in a property. Swift
/// may release a local variable after its last use, before the end of its scope.
package final class FileDescriptor: Sendable {
  package let raw: Int32
  /// The path or name in error messages.
  let name: Bytes

  /// Takes ownership of a descriptor that no other code closes.
  package init(owning raw: Int32, name: Bytes = []) {
    self.raw = raw
    self.name = name
  }

  deinit {
    // Not retried after EINTR: the number is already free, and another thread may have reused it.
    _ = close(raw)
  }

  /// Opens a file by `open(2)`, always close-on-exec, so that jobs do not inherit it.
  ///
  /// Creates files with mode 0600. Unless `followingLinks` is set, as for a path that the user
  /// gave, the file must be private to this user; see ``FileFault``.
  package static func open(
    _ path: Bytes, _ access: Access, followingLinks: Bool = false
  ) throws(Failure) -> FileDescriptor {
    guard let file = try openIfThere(path, access, followingLinks: followingLinks) else {
      throw Failure("open", ENOENT, access.doing, path)
    }
    return file
  }

  /// Opens a file as ``open(_:_:followingLinks:)`` does; returns nil if it does not exist.
  package static func openIfThere(
    _ path: Bytes, _ access: Access, followingLinks: Bool = false
  ) throws(Failure) -> FileDescriptor? {
    let flags = access.flags | O_CLOEXEC
    guard !followingLinks else { return try openFile(path, flags, access.doing) }
    // Truncated after the check of the owner. O_NONBLOCK keeps a fifo from blocking the
    // open.
    let file: FileDescriptor?
    do throws(Failure) {
      file = try openFile(path, flags & ~O_TRUNC | O_NOFOLLOW | O_NONBLOCK, access.doing)
    } catch {
      throw FileFault.named(error, path, access)
    }
    guard let file else { return nil }
    try file.becomePrivate(for: access)
    return file
  }

  /// Duplicates standard input, by `fcntl(2)` with F_DUPFD_CLOEXEC.
  package static func standardInput() throws(Failure) -> FileDescriptor {
    let name = Bytes("standard input")
    return FileDescriptor(
      owning: try retrying("fcntl", "reading", name) { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) },
      name: name)
  }

  /// Opens a file that a job reads from standard input; it must be a regular one.
  ///
  /// The job would inherit O_NONBLOCK, which keeps a fifo from blocking the open.
  package static func openInput(_ path: Bytes) throws(Failure) -> FileDescriptor {
    let file = try open(path, .input, followingLinks: true)
    guard try file.status().kind == .file else {
      throw Failure(
        "the input \(Visible.text(path))", "it is not a regular file",
        next: "Use --input -, which copies standard input.")
    }
    _ = try retrying("fcntl", "opening", path) { fcntl(file.raw, F_SETFL, 0) }
    return file
  }

  /// Whether its disk has no space left for this user, by `fstatvfs(3)`.
  package var isDiskFull: Bool {
    var disk = statvfs()
    guard fstatvfs(raw, &disk) == 0, disk.f_blocks > 0 else { return false }
    return (Machine.userID() == 0 ? disk.f_bfree : disk.f_bavail) == 0
  }

  /// How to open a file, and for what: the verb of an error message.
  package struct Access: Sendable {
    let doing: StaticString
    let flags: Int32
    /// Whether a job inherits the descriptor as its output.
    var isInherited = false

    package static let read = Access(doing: "reading", flags: O_RDONLY)
    /// Only whether it exists, or its lock.
    package static let check = Access(doing: "checking", flags: O_RDONLY)
    static let input = Access(
      doing: "opening the input", flags: O_RDONLY | O_NONBLOCK | O_NOCTTY)
    /// A folder, to change to it.
    #if os(Linux)
      static let place = Access(doing: "opening", flags: O_PATH | O_DIRECTORY)
    #else
      static let place = Access(doing: "opening", flags: O_RDONLY | O_DIRECTORY)
    #endif
    /// The slave of a pseudo-terminal.
    static let terminal = Access(doing: "opening", flags: O_RDWR | O_NOCTTY)
    package static let readWrite = Access(doing: "opening", flags: O_RDWR)
    /// To flush its entries.
    static let folder = Access(doing: "flushing", flags: O_RDONLY | O_DIRECTORY)
    /// A lock file, created if it does not exist.
    package static let lock = Access(doing: "locking", flags: O_RDWR | O_CREAT)
    /// Fails if the file exists.
    package static let new = Access(doing: "creating", flags: O_RDWR | O_CREAT | O_EXCL)
    /// Created, or emptied if it exists.
    package static let emptied = Access(doing: "writing", flags: O_RDWR | O_CREAT | O_TRUNC)
    /// Every write goes to the end, even when another process has moved it.
    package static let growing = Access(doing: "opening", flags: O_RDWR | O_APPEND)
    /// Growing, and created if it does not exist.
    package static let log = Access(
      doing: "opening", flags: O_RDWR | O_APPEND | O_CREAT, isInherited: true)
    /// Growing, and empty at first.
    package static let emptyLog = Access(
      doing: "creating", flags: O_RDWR | O_APPEND | O_CREAT | O_TRUNC, isInherited: true)

    /// Whether this access can change the content.
    var isWriting: Bool { flags & O_ACCMODE != O_RDONLY }

    func has(_ flag: Int32) -> Bool { flags & flag != 0 }
  }

  /// Acquires the exclusive lock of `flock(2)`; blocks until it is free.
  package func lock() throws(Failure) { _ = try lock(by: LOCK_EX) }

  /// Acquires the shared lock of `flock(2)`; blocks until no process holds the exclusive one.
  package func lockShared() throws(Failure) { _ = try lock(by: LOCK_SH) }

  /// Tries to acquire the exclusive lock of `flock(2)` without blocking; returns whether it did.
  package func tryLock() throws(Failure) -> Bool { try lock(by: LOCK_EX | LOCK_NB) }

  /// Tries to acquire the shared lock of `flock(2)` without blocking; returns whether it did.
  package func tryLockShared() throws(Failure) -> Bool { try lock(by: LOCK_SH | LOCK_NB) }

  /// Releases the lock of `flock(2)`, even if other processes share the open file.
  package func unlock() { _ = flock(raw, LOCK_UN) }

  /// Acquires a shared lock of a range of bytes, to any end if the last is `Int.max`, by
  /// `fcntl(2)`.
  ///
  /// Of the open file, as a lock of `flock(2)` is, but independent of those.
  package func lockShared(_ range: ClosedRange<Int>) throws(Failure) {
    _ = try lock(range, F_RDLCK, by: Self.setRange)
  }

  /// Releases the lock of a range of bytes.
  package func unlock(_ range: ClosedRange<Int>) {
    _ = try? lock(range, F_UNLCK, by: Self.setRange)
  }

  /// Whether another open file has locked a byte of the range.
  package func isLocked(_ range: ClosedRange<Int>) throws(Failure) -> Bool {
    try lock(range, F_WRLCK, by: Self.getRange).l_type != F_UNLCK
  }

  #if os(Linux)
    private static let (getRange, setRange) = (F_OFD_GETLK, F_OFD_SETLK)
  #else
    // Not in all versions of the headers.
    private static let (getRange, setRange): (Int32, Int32) = (92, 90)
  #endif

  private func lock(
    _ range: ClosedRange<Int>, _ type: some BinaryInteger, by command: Int32
  ) throws(Failure) -> flock {
    var lock = flock()
    lock.l_type = Int16(type)
    lock.l_start = off_t(range.lowerBound)
    lock.l_len = range.upperBound == .max ? 0 : off_t(range.upperBound - range.lowerBound + 1)
    _ = try retrying("fcntl", "locking", name) { fcntl(raw, command, &lock) }
    return lock
  }

  private func lock(by operation: Int32) throws(Failure) -> Bool {
    try retrying("flock", "locking", name, unless: EWOULDBLOCK) { flock(raw, operation) } != -1
  }
}

/// The variadic `open(2)`, which the static method of the same name hides; nil if there is no file.
private func openFile(
  _ path: Bytes, _ flags: Int32, _ doing: StaticString
) throws(Failure) -> FileDescriptor? {
  let raw = try retrying("open", doing, path: path, unless: ENOENT) {
    open($0, flags, 0o600 as mode_t)
  }
  return raw == -1 ? nil : FileDescriptor(owning: raw, name: path)
}
