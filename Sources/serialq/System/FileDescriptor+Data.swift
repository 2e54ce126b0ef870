extension FileDescriptor {
  /// Reads from the current position to the end of the file, by `read(2)`.
  package func readAll() throws(Failure) -> Bytes {
    var all: Bytes = []
    while true {
      let status = try status()
      let piece = try readOnce(max(4096, Int(status.size) - all.count + 1)) ?? []
      if all.isEmpty { all = piece } else { all += piece }
      if piece.isEmpty { return all }
      // There was room for more, so this is the end. Files in /proc report 0.
      if status.kind == .file, all.count == Int(status.size) { return all }
    }
  }

  /// Reads once, at most `limit` bytes; nil if that fails with the error number `expected`.
  private func readOnce(_ limit: Int, unless expected: Int32 = 0) throws(Failure) -> Bytes? {
    var bytes = Bytes(repeating: 0, count: limit)
    let count = try retrying("read", "reading", name, unless: expected) {
      bytes.withUnsafeMutableBytes { read(raw, $0.baseAddress, $0.count) }
    }
    guard count >= 0 else { return nil }
    bytes.removeSubrange(count...)
    return bytes
  }

  /// The bytes between the current position and the end of a file; nil for anything else.
  package var rest: Int64? {
    get throws(Failure) {
      let status = try status()
      guard status.kind == .file else { return nil }
      return status.size - Int64(lseek(raw, 0, SEEK_CUR))
    }
  }

  /// Copies from the current position to the end, by `read(2)`; returns false, having copied a
  /// part, if there are more bytes than `limit`.
  package func copyAll(to target: FileDescriptor, atMost limit: Int64) throws(Failure) -> Bool {
    var left = limit
    while true {
      let piece = try readOnce(1 << 18) ?? []
      if piece.isEmpty { return true }
      left -= Int64(piece.count)
      if left < 0 { return false }
      try target.writeAll(piece)
    }
  }

  /// Appends up to `count` bytes from `offset` on to `buffer`, by `pread(2)`.
  ///
  /// Appends fewer only at the end of the file.
  package func fill(_ buffer: inout Bytes, with count: Int, from offset: Int64) throws(Failure) {
    let start = buffer.count
    buffer.append(contentsOf: repeatElement(0, count: count))
    var filled = 0
    defer { buffer.removeSubrange((start + filled)...) }
    while filled < count {
      let got = try retrying("pread", "reading", name) {
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

  /// The `count` bytes from `offset` on, or fewer at the end of the file.
  package func bytes(from offset: Int64, _ count: Int) throws(Failure) -> Bytes {
    var bytes: Bytes = []
    try fill(&bytes, with: count, from: offset)
    return bytes
  }

  /// Writes all bytes, in one `write(2)` unless the system accepts fewer.
  package func writeAll(_ bytes: Bytes) throws(Failure) {
    let error = Self.writeAll(bytes, to: raw)
    if error != 0 { throw Failure("write", error, "writing", name) }
  }

  /// Writes all bytes, by `write(2)`; returns 0 or `errno`.
  static func writeAll(_ bytes: Bytes, to descriptor: Int32) -> Int32 {
    bytes.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count {
        let written = write(descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done)
        if written >= 0 {
          done += written
        } else if errno == EAGAIN {
          // Another program may have made a shared terminal or pipe non-blocking.
          var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          poll(&request, 1, -1)
        } else if errno != EINTR {
          return errno
        }
      }
      return 0
    }
  }

  /// Reads what is there, at most `limit` bytes, from a non-blocking descriptor, by `read(2)`.
  ///
  /// Returns an empty array if there is nothing yet, and nil at the end.
  package func readSome(_ limit: Int) throws(Failure) -> Bytes? {
    do throws(Failure) {
      guard let bytes = try readOnce(limit, unless: EAGAIN) else { return [] }
      return bytes.isEmpty ? nil : bytes
    } catch {
      // The other end of a socket was closed before it had read everything; no process has the
      // slave of a terminal open, as after `vhangup(2)`.
      guard error.number == ECONNRESET || error.number == EIO else { throw error }
      return nil
    }
  }

  /// Writes as many bytes as a non-blocking descriptor accepts, by `write(2)`; returns how many.
  package func writeSome(_ bytes: ArraySlice<UInt8>) throws(Failure) -> Int {
    if bytes.isEmpty { return 0 }
    let count = try retrying("write", "writing", name, unless: EAGAIN) {
      bytes.withUnsafeBytes { write(raw, $0.baseAddress, $0.count) }
    }
    return max(0, count)
  }

  /// Makes reads and writes return instead of blocking, by `fcntl(2)` with O_NONBLOCK.
  ///
  /// Affects all descriptors that share the open file.
  package func setNonBlocking() throws(Failure) {
    let flags = try retrying("fcntl", "opening", name) { fcntl(raw, F_GETFL) }
    _ = try retrying("fcntl", "opening", name) { fcntl(raw, F_SETFL, flags | O_NONBLOCK) }
  }

  /// The status of the file, by `fstat(2)`.
  package func status() throws(Failure) -> FileStatus {
    var info = stat()
    _ = try retrying("fstat", "checking", name) { fstat(raw, &info) }
    return FileStatus(info)
  }

  /// Truncates the file, by `ftruncate(2)`.
  package func truncate(to size: Int64) throws(Failure) {
    _ = try retrying("ftruncate", "writing", name) { ftruncate(raw, off_t(size)) }
  }

  /// Sets the permission bits regardless of the umask, by `fchmod(2)`.
  func setMode(_ mode: UInt32) throws(Failure) {
    _ = try retrying("fchmod", "changing the mode of", name) { fchmod(raw, mode_t(mode)) }
  }

  /// Flushes the content to the disk: `fdatasync(2)`, or `F_FULLFSYNC` where that is not enough.
  package func flushData() throws(Failure) {
    #if canImport(Darwin)
      try flushAll()
    #else
      _ = try retrying("fdatasync", "flushing", name) { fdatasync(raw) }
    #endif
  }

  /// Whether a flush fails if a flush by another descriptor of the file has failed since this one
  /// was opened: on Linux since 4.13.
  package static var flushReportsEarlierFailures: Bool {
    #if os(Linux)
      true
    #else
      false
    #endif
  }

  /// Flushes content and metadata to the disk, by `fsync(2)`; for folders.
  func flushAll() throws(Failure) {
    #if canImport(Darwin)
      // fsync on Darwin flushes only to the cache of the drive, which a power loss clears.
      do throws(Failure) {
        _ = try retrying("fcntl", "flushing", name) { fcntl(raw, F_FULLFSYNC) }
        return
      } catch {
        // Not every file system supports it. After any other error, data may be lost: a later fsync
        // would succeed nevertheless.
        guard [ENOTSUP, EINVAL, ENOTTY].contains(error.number) else { throw error }
      }
    #endif
    _ = try retrying("fsync", "flushing", name) { fsync(raw) }
  }
}

/// The result of `fstat(2)` or `lstat(2)`.
package struct FileStatus: Equatable {
  /// The type of a file.
  package enum Kind { case file, folder, link, socket, other }

  /// Identifies a file among all files that exist at the same time.
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
  /// The number of hard links.
  var links: UInt64
  /// When the content was last changed.
  package var modified: Timestamp

  init(_ info: stat) {
    identity = Identity(
      device: UInt64(truncatingIfNeeded: info.st_dev), inode: UInt64(info.st_ino))
    size = Int64(info.st_size)
    owner = info.st_uid
    links = UInt64(info.st_nlink)
    #if canImport(Glibc)
      let time = info.st_mtim
    #else
      let time = info.st_mtimespec
    #endif
    modified = Timestamp(time)
    mode = UInt32(info.st_mode) & 0o7777
    kind =
      switch info.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .folder
      case S_IFLNK: .link
      case S_IFSOCK: .socket
      default: .other
      }
  }
}
