/// A file that the user names for output.
package enum UserFile {
  /// Replaces the file at `path` with `bytes` atomically.
  ///
  /// Keeps the mode of an existing file; a new file gets the mode that the umask allows. Follows
  /// symbolic links. Writes directly to anything but a regular file, such as `/dev/stdout`.
  package static func replace(_ path: Bytes, by bytes: Bytes) throws(Failure) {
    let old = try FileSystem.status(of: path, followingLinks: true)
    if let old, old.kind != .file {
      // The system refuses to write to a folder. Replacing a device would delete `/dev/null`.
      let device = try FileDescriptor.open(path, .write, followingLinks: true)
      return try device.writeAll(bytes)
    }
    // In the same folder: `rename` cannot cross file systems.
    let target = try old == nil ? path : FileSystem.resolved(path)
    let temporary = target + Bytes(".\(Machine.processID()).new".utf8)
    // Renaming over a file needs no permission on it, so a read-only file would be replaced.
    if old != nil { _ = try FileDescriptor.open(target, .readWrite, followingLinks: true) }
    // Exclusive: an existing file at this path may belong to another process or be a symbolic link.
    let file = try FileDescriptor.open(temporary, .new, followingLinks: true)
    do throws(Failure) {
      let mode = old.map { $0.mode & 0o777 } ?? UInt32(0o666 & ~Machine.umask())
      try file.setMode(mode)
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
