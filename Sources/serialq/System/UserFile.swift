/// A file that the user names for output.
package enum UserFile {
  /// Replaces the file at `path` with `bytes` atomically.
  ///
  /// Keeps the mode of this user's file; any other gets the mode that the umask allows. Follows
  /// symbolic links. Writes directly to anything but a regular file, such as `/dev/stdout`. Refuses a
  /// link, a fifo or a device of another user, which could redirect or block the write.
  package static func replace(_ path: Bytes, by bytes: Bytes) throws(Failure) {
    let entry = try FileSystem.status(of: path)
    if let entry, entry.kind != .file, try !FileSystem.trusts(entry.owner) {
      throw Failure(refusing: path, .owner(entry.owner), EPERM, "writing")
    }
    let old = try FileSystem.status(of: path, followingLinks: true)
    if let old, old.kind != .file {
      // The system refuses to write to a folder. Replacing a device would delete `/dev/null`.
      let device = try FileDescriptor.open(path, .write, followingLinks: true)
      return try device.writeAll(bytes)
    }
    // In the same folder: `rename` cannot cross file systems.
    let target = try old != nil && entry?.kind == .link ? FileSystem.resolved(path) : path
    let temporary = target + Bytes(".\(Machine.processID()).new".utf8)
    // Renaming over a file needs no permission on it, so a read-only file would be replaced.
    if old != nil { _ = try FileDescriptor.open(target, .readWrite, followingLinks: true) }
    // Exclusive: an existing file at this path may belong to another process or be a symbolic link.
    let file = try FileDescriptor.open(temporary, .new, followingLinks: true)
    do throws(Failure) {
      let own = old.flatMap { $0.owner == Machine.userID() ? $0.mode & 0o777 : nil }
      try file.setMode(own ?? UInt32(0o666 & ~Machine.umask()))
      try file.writeAll(bytes)
      // Before the rename: otherwise a crash can leave an empty file in place of the old one.
      try file.flushData()
      try FileSystem.rename(temporary, to: target)
    } catch {
      try? FileSystem.remove(temporary)
      throw error
    }
  }
}
