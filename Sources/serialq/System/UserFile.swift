/// A file that the user names for output.
package enum UserFile {
  /// Writes `bytes` to a new file at `path`, or replaces the one there, atomically.
  ///
  /// Keeps the mode of an existing file; a new one gets the mode that the umask allows. Follows
  /// symbolic links. Refuses whatever is no regular file of this user, or a link of theirs to one:
  /// a replaced file of another user would change its owner, and that user's link could redirect
  /// the write, or a fifo block it.
  package static func replace(_ path: Bytes, by bytes: Bytes) throws(Failure) {
    let entry = try FileSystem.status(of: path)
    let isLink = entry?.kind == .link
    let old = isLink ? try FileSystem.status(of: path, followingLinks: true) : entry
    for found in [entry, old] {
      guard let found, found.owner != Machine.userID() else { continue }
      throw Failure(refusing: path, .owner(found.owner), EPERM, "writing")
    }
    if entry != nil, old?.kind != .file {
      throw Failure(refusing: path, old == nil ? .symbolicLink : .notFile, EPERM, "writing")
    }
    // In the same folder: `rename` cannot cross file systems.
    let target = isLink ? try FileSystem.resolved(path) : path
    let temporary = target + Bytes(".\(Machine.processID()).new".utf8)
    // Renaming over a file needs no permission on it, so a read-only file would be replaced.
    if old != nil { _ = try FileDescriptor.open(target, .readWrite, followingLinks: true) }
    // Exclusive: an existing file at this path may belong to another process or be a symbolic link.
    let file = try FileDescriptor.open(temporary, .new, followingLinks: true)
    do throws(Failure) {
      try file.setMode(old.map { $0.mode & 0o777 } ?? UInt32(0o666 & ~Machine.umask()))
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
