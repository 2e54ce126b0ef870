/// System calls on paths.
package enum FileSystem {
  /// The number of bytes in the longest path that system calls accept.
  package static let longestPath = Int(PATH_MAX) - 1

  /// The status of the path, by `lstat(2)`, or of its target, by `stat(2)`; nil if it does not
  /// exist.
  package static func status(
    of path: Bytes, followingLinks: Bool = false
  ) throws(Failure) -> FileStatus? {
    var info = stat()
    let found = try retrying("lstat", "checking", path: path, unless: ENOENT) {
      followingLinks ? stat($0, &info) : lstat($0, &info)
    }
    return found == -1 ? nil : FileStatus(info)
  }

  /// Whether the path leads to standard output, as `/dev/stdout` does, by `stat(2)`.
  package static func isStandardOutput(_ path: Bytes) -> Bool {
    var (named, own) = (stat(), stat())
    let areFound = path.withCString { stat($0, &named) } == 0 && fstat(STDOUT_FILENO, &own) == 0
    return areFound && FileStatus(named).identity == FileStatus(own).identity
  }

  /// Whether the user is this one or root.
  ///
  /// The owner of `/` has the power of root. In a user namespace without root it is the user that
  /// stands for all users outside.
  package static func trusts(_ user: UInt32) throws(Failure) -> Bool {
    try [0, Machine.userID()].contains(user) ? true : status(of: Bytes("/"))?.owner == user
  }

  /// Whether this user can execute the file at the path, by `stat(2)` and `access(2)`.
  package static func isExecutable(_ path: Bytes) throws(Failure) -> Bool {
    guard try status(of: path, followingLinks: true)?.kind == .file else { return false }
    return path.withCString { access($0, X_OK) } == 0
  }

  /// Creates a folder with mode 0700, by `mkdir(2)`; returns false if the name exists.
  package static func makeFolder(_ path: Bytes) throws(Failure) -> Bool {
    let made = try retrying("mkdir", "creating", path: path, unless: EEXIST) { mkdir($0, 0o700) }
    if made == -1 { return false }
    // A umask that clears the owner's bits would create an unusable folder.
    if try status(of: path)?.mode != 0o700 {
      _ = try retrying("fchmodat", "changing the mode of", path: path) {
        fchmodat(AT_FDCWD, $0, 0o700, AT_SYMLINK_NOFOLLOW)
      }
    }
    return true
  }

  /// Renames `path` to `target` atomically and replaces `target`, by `rename(2)`.
  package static func rename(_ path: Bytes, to target: Bytes) throws(Failure) {
    _ = try retrying("rename", "renaming", path: path) { from in
      target.withCString { to in renameFile(from, to) }
    }
  }

  /// Gives a file another name, by `link(2)`; succeeds if a file has that name.
  package static func link(_ path: Bytes, as name: Bytes) throws(Failure) {
    _ = try retrying("link", "linking", path: path, unless: EEXIST) { from in
      name.withCString { linkFile(from, $0) }
    }
  }

  /// Resolves all symbolic links in a path, by `realpath(3)`.
  package static func resolved(_ path: Bytes) throws(Failure) -> Bytes {
    guard let resolved = path.withCString({ realpath($0, nil) }) else {
      throw Failure("realpath", errno, "resolving", path)
    }
    defer { free(resolved) }
    return Bytes(cString: resolved)
  }

  /// The target of a symbolic link, by `readlink(2)`; nil if it cannot be read.
  package static func target(of path: Bytes) -> Bytes? {
    path.withCString { link in
      withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { target -> Bytes? in
        guard let base = target.baseAddress else { return nil }
        let count = readlink(link, base, target.count)
        return count < 0 ? nil : target.prefix(count).map { UInt8(bitPattern: $0) }
      }
    }
  }

  /// Removes a file by `unlink(2)`; succeeds if it does not exist.
  package static func remove(_ path: Bytes) throws(Failure) {
    _ = try retrying("unlink", "removing", path: path, unless: ENOENT) { unlink($0) }
  }

  /// Removes an empty folder by `rmdir(2)`; succeeds if it does not exist.
  package static func removeFolder(_ path: Bytes) throws(Failure) {
    _ = try retrying("rmdir", "removing", path: path, unless: ENOENT) { rmdir($0) }
  }

  /// Makes the entries of a folder durable, by `fsync(2)`.
  package static func flush(folder path: Bytes) throws(Failure) {
    try FileDescriptor.open(path, .folder, followingLinks: true).flushAll()
  }

  /// The names in a folder, unordered and without `.` and `..`, by `readdir(3)`.
  ///
  /// Empty if the folder does not exist.
  package static func names(in path: Bytes) throws(Failure) -> [Bytes] {
    var opened = path.withCString { opendir($0) }
    while opened == nil, errno == EINTR { opened = path.withCString { opendir($0) } }
    guard let stream = opened else {
      let number = errno
      if number == ENOENT { return [] }
      throw Failure("opendir", number, "reading", path)
    }
    defer { closedir(stream) }
    var names: [Bytes] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        let number = errno
        if number == 0 { return names }
        throw Failure("readdir", number, "reading", path)
      }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { Bytes($0.prefix { $0 != 0 }) }
      if name != Bytes("."), name != Bytes("..") { names.append(name) }
    }
  }
}

/// `rename(2)`, which the static method of the same name hides.
private func renameFile(_ from: UnsafePointer<CChar>, _ to: UnsafePointer<CChar>) -> Int32 {
  rename(from, to)
}

/// `link(2)`, which the static method of the same name hides.
private func linkFile(_ from: UnsafePointer<CChar>, _ to: UnsafePointer<CChar>) -> Int32 {
  link(from, to)
}
