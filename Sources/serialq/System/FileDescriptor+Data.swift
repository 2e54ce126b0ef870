extension FileDescriptor {
  /// Everything from the current position to the end, by `read(2)`.
  package func readAll() throws(SystemError) -> Bytes {
    var all: Bytes = []
    while true {
      let start = all.count
      // One byte more than the file is said to have, so that its end shows in the same call.
      let room = max(4096, Int(try status().size) - start + 1)
      all.append(contentsOf: repeatElement(0, count: room))
      let count = try retrying("read") {
        all.withUnsafeMutableBytes { read(raw, $0.baseAddress?.advanced(by: start), room) }
      }
      all.removeSubrange((start + count)...)
      if count == 0 { return all }
    }
  }

  /// Adds to `buffer` up to `count` bytes from `offset` on, by `pread(2)`; fewer only at the end of
  /// the file.
  package func fill(_ buffer: inout Bytes, with count: Int, from offset: Int64) throws(SystemError)
  {
    let start = buffer.count
    buffer.append(contentsOf: repeatElement(0, count: count))
    var filled = 0
    defer { buffer.removeSubrange((start + filled)...) }
    while filled < count {
      let got = try retrying("pread") {
        buffer.withUnsafeMutableBytes {
          pread(
            raw, $0.baseAddress?.advanced(by: start + filled), count - filled,
            off_t(offset) + off_t(filled))
        }
      }
      if got == 0 { return }
      filled += got
    }
  }

  /// Writes all of it, in one `write(2)` unless the system takes less.
  package func writeAll(_ bytes: Bytes) throws(SystemError) {
    var done = 0
    while done < bytes.count {
      done += try retrying("write") {
        bytes.withUnsafeBytes { write(raw, $0.baseAddress?.advanced(by: done), $0.count - done) }
      }
    }
  }

  /// What `fstat(2)` says.
  package func status() throws(SystemError) -> FileStatus {
    var info = stat()
    _ = try retrying("fstat") { fstat(raw, &info) }
    return FileStatus(info)
  }

  /// Cuts the file by `ftruncate(2)`.
  package func truncate(to size: Int64) throws(SystemError) {
    _ = try retrying("ftruncate") { ftruncate(raw, off_t(size)) }
  }

  /// Sets the permission bits, whatever the umask, by `fchmod(2)`.
  func setMode(_ mode: UInt32) throws(SystemError) {
    _ = try retrying("fchmod") { fchmod(raw, mode_t(mode)) }
  }

  /// Returns when the content is on the disk: `fdatasync(2)`, and where that is not enough
  /// `F_FULLFSYNC`.
  package func flushData() throws(SystemError) {
    #if canImport(Darwin)
      // fsync on this system stops at the drive's own cache, which a power cut empties.
      if fcntl(raw, F_FULLFSYNC) != -1 { return }
      _ = try retrying("fsync") { fsync(raw) }
    #else
      _ = try retrying("fdatasync") { fdatasync(raw) }
    #endif
  }

  /// Returns when the file and what describes it are on the disk, by `fsync(2)`; for folders.
  func flushAll() throws(SystemError) {
    _ = try retrying("fsync") { fsync(raw) }
  }
}

/// What `fstat(2)` and `lstat(2)` say about a file.
package struct FileStatus: Equatable {
  /// What kind of thing a path names.
  package enum Kind { case file, folder, link, other }

  /// Tells one file from every other that exists at the same time.
  package struct Identity: Equatable {
    var device: UInt64
    var inode: UInt64
  }

  package var identity: Identity
  package var size: Int64
  package var owner: UInt32
  /// The permission bits.
  package var mode: UInt32
  package var kind: Kind
  /// How many names it has: hard links.
  var links: UInt64

  init(_ info: stat) {
    identity = Identity(
      device: UInt64(truncatingIfNeeded: info.st_dev), inode: UInt64(info.st_ino))
    size = Int64(info.st_size)
    owner = info.st_uid
    links = UInt64(info.st_nlink)
    mode = UInt32(info.st_mode) & 0o7777
    kind =
      switch info.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .folder
      case S_IFLNK: .link
      default: .other
      }
  }
}
