/// System calls on paths.
package enum FileSystem {
  /// The status of the path, by `lstat(2)`, or of its target, by `stat(2)`; nil if it does not
  /// exist.
  package static func status(
    of path: Bytes, followingLinks: Bool = false
  ) throws(SystemError) -> FileStatus? {
    var info = stat()
    do throws(SystemError) {
      try call("lstat", path) { followingLinks ? stat($0, &info) : lstat($0, &info) }
      return FileStatus(info)
    } catch {
      if error.code == ENOENT { return nil }
      throw error
    }
  }

  /// Creates a folder with mode 0700, by `mkdir(2)`; returns false if the name exists.
  package static func makeFolder(_ path: Bytes) throws(SystemError) -> Bool {
    do throws(SystemError) {
      try call("mkdir", path) { mkdir($0, 0o700) }
    } catch {
      if error.code == EEXIST { return false }
      throw error
    }
    // A umask that clears the owner's bits would create an unusable folder.
    if try status(of: path)?.mode != 0o700 {
      try call("fchmodat", path) { fchmodat(AT_FDCWD, $0, 0o700, AT_SYMLINK_NOFOLLOW) }
    }
    return true
  }

  /// Renames `path` to `target` atomically and replaces `target`, by `rename(2)`.
  package static func rename(_ path: Bytes, to target: Bytes) throws(SystemError) {
    try call("rename", path) { from in target.withCPath { to in renameFile(from, to) } }
  }

  /// Resolves all symbolic links in a path, by `realpath(3)`.
  static func resolved(_ path: Bytes) throws(SystemError) -> Bytes {
    guard let resolved = path.withCPath({ realpath($0, nil) }) else {
      throw SystemError("realpath", errno)
    }
    defer { free(resolved) }
    return Bytes(UnsafeRawBufferPointer(start: resolved, count: strlen(resolved)))
  }

  /// Removes a file by `unlink(2)`; succeeds if it does not exist.
  package static func remove(_ path: Bytes) throws(SystemError) {
    do throws(SystemError) {
      try call("unlink", path) { unlink($0) }
    } catch {
      if error.code != ENOENT { throw error }
    }
  }

  /// Makes the entries of a folder durable, by `fsync(2)`.
  package static func flush(folder path: Bytes) throws(SystemError) {
    try FileDescriptor.open(path, .folder, followingLinks: true).flushAll()
  }

  /// The names in a folder, unordered and without `.` and `..`, by `readdir(3)`.
  ///
  /// Empty if the folder does not exist.
  package static func names(in path: Bytes) throws(SystemError) -> [Bytes] {
    var opened = path.withCPath { opendir($0) }
    while opened == nil, errno == EINTR { opened = path.withCPath { opendir($0) } }
    guard let stream = opened else {
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

  /// Makes a call on a path and retries after EINTR, which network file systems can return.
  private static func call(
    _ name: StaticString, _ path: Bytes, _ body: (UnsafePointer<CChar>) -> Int32
  ) throws(SystemError) {
    _ = try path.withCPath { path in
      Result { () throws(SystemError) in try retrying(name) { body(path) } }
    }.get()
  }
}

/// `rename(2)`, which the static method of the same name hides.
private func renameFile(_ from: UnsafePointer<CChar>, _ to: UnsafePointer<CChar>) -> Int32 {
  rename(from, to)
}
