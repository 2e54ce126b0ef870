extension FileDescriptor {
  /// Opens the terminal of a descriptor again, non-blocking, by `ttyname_r(3)` and `open(2)`.
  ///
  /// The descriptor itself must not become non-blocking: the shell and other programs share its
  /// open file. Duplicates it if the terminal cannot be opened, for example because it belongs to
  /// another user after `su`; reads and writes may then block.
  package static func terminal(of descriptor: Int32) throws(Failure) -> FileDescriptor {
    let doing: StaticString = "opening the terminal"
    if let own = open(terminal: descriptor) { return own }
    return FileDescriptor(
      owning: try retrying("fcntl", doing) { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) },
      name: Bytes("the terminal"))
  }

  private static func open(terminal descriptor: Int32) -> FileDescriptor? {
    var paths: [Bytes] = []
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    if ttyname_r(descriptor, &buffer, buffer.count) == 0 {
      paths.append(Bytes(buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }))
    }
    // Second, because not every system can wait for it.
    if tcgetsid(descriptor) == getsid(0) { paths.append(Bytes("/dev/tty")) }
    for path in paths {
      let own = try? FileDescriptor.open(path, .terminal, followingLinks: true)
      if let own, (try? own.setNonBlocking()) != nil { return own }
    }
    return nil
  }
}
