/// A file that a person names, to be written.
package enum UserFile {
  /// Puts `bytes` at `path`, in the place of what was there, all or nothing; its mode stays, and that
  /// of a new one is what the umask leaves.
  ///
  /// A link is followed, and what is no file, such as `/dev/stdout`, is written to.
  package static func replace(_ path: Bytes, by bytes: Bytes) throws(SystemError) {
    let old = try FileSystem.status(of: path, followingLinks: true)
    if let old, old.kind != .file {
      // A folder is refused by the system. Were it replaced, there would be no /dev/null any more.
      let device = try FileDescriptor.open(path, .write, followingLinks: true)
      return try device.writeAll(bytes)
    }
    // In the same folder: only there can it take the other's place in one step.
    let target = try old == nil ? path : FileSystem.resolved(path)
    let temporary = target + Bytes(".\(Machine.processID()).new".utf8)
    // It takes no right to the old file to put another in its place; whoever took that right away
    // did not want it.
    if old != nil { _ = try FileDescriptor.open(target, .readWrite, followingLinks: true) }
    // Whatever is there may be somebody else's, or a link to anywhere: then not at all.
    let file = try FileDescriptor.open(
      temporary, [.readWrite, .create, .exclusive], followingLinks: true)
    do throws(SystemError) {
      let mode = old.map { $0.mode & 0o777 } ?? UInt32(0o666 & ~Machine.umask())
      try file.setMode(mode)
      try file.writeAll(bytes)
      // Before it takes the other's place: after a crash there is the old one or the new one.
      try file.flushData()
      try FileSystem.rename(temporary, to: target)
    } catch {
      try? FileSystem.remove(temporary)
      throw error
    }
  }
}
