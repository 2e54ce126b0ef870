#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Calls on paths.
enum FileSystem {
  /// What `lstat(2)` says of the path itself, or `stat(2)` of what it leads to; nil when there is
  /// nothing.
  static func status(
    of path: Bytes, followingLinks: Bool = false
  ) throws(SystemError) -> FileStatus? {
    var info = stat()
    let result = path.withCPath { followingLinks ? stat($0, &info) : lstat($0, &info) }
    if result == 0 { return FileStatus(info) }
    let code = errno
    if code == ENOENT { return nil }
    throw SystemError("lstat", code)
  }

  /// Makes a folder, 0700, by `mkdir(2)`; false when there is something of that name.
  static func makeFolder(_ path: Bytes) throws(SystemError) -> Bool {
    guard path.withCPath({ mkdir($0, 0o700) }) == 0 else {
      let code = errno
      if code == EEXIST { return false }
      throw SystemError("mkdir", code)
    }
    // A umask that takes from the owner too would make a folder that cannot be used.
    if try status(of: path)?.mode != 0o700 {
      _ = try retrying("fchmodat") {
        path.withCPath { fchmodat(AT_FDCWD, $0, 0o700, AT_SYMLINK_NOFOLLOW) }
      }
    }
    return true
  }

  /// Puts `path` in the place of whatever `target` was, in one step, by `rename(2)`.
  static func rename(_ path: Bytes, to target: Bytes) throws(SystemError) {
    let result = path.withCPath { from in target.withCPath { to in renameFile(from, to) } }
    if result != 0 { throw SystemError("rename", errno) }
  }

  /// Removes a file by `unlink(2)`; one that is not there is no error.
  static func remove(_ path: Bytes) throws(SystemError) {
    if path.withCPath({ unlink($0) }) == 0 { return }
    let code = errno
    if code != ENOENT { throw SystemError("unlink", code) }
  }

  /// Makes the entries of a folder durable, by `fsync(2)`.
  static func flush(folder path: Bytes) throws(SystemError) {
    try FileDescriptor.open(path, .folder, followingLinks: true).flushAll()
  }

  /// The names in a folder, in no order, without `.` and `..`, by `readdir(3)`; none when it is not
  /// there.
  static func names(in path: Bytes) throws(SystemError) -> [Bytes] {
    guard let stream = path.withCPath({ opendir($0) }) else {
      let code = errno
      if code == ENOENT { return [] }
      throw SystemError("opendir", code)
    }
    defer { closedir(stream) }
    var names: [Bytes] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        let code = errno
        if code == 0 { return names }
        throw SystemError("readdir", code)
      }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { Bytes($0.prefix { $0 != 0 }) }
      if name != Bytes("."), name != Bytes("..") { names.append(name) }
    }
  }
}

/// `rename(2)`, out of reach of the static method of the same name.
private func renameFile(_ from: UnsafePointer<CChar>, _ to: UnsafePointer<CChar>) -> Int32 {
  rename(from, to)
}
