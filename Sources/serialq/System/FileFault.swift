/// Why a file in a queue is not one of its owner's alone, and so neither read nor written.
///
/// What is in a queue runs as its owner, and is written as its owner. Whoever could once write to
/// its folder may have planted something there: a link that leads what is written to another file, a
/// fifo that never answers, a file that says what to run.
package enum FileFault: Equatable, Sendable {
  case symbolicLink
  /// A folder, a fifo, a socket, a device.
  case notFile
  case owner(UInt32)
  /// Others can write to it.
  case mode(UInt32)
  /// It is to be changed, and has another name, under which it may be somebody's dearest.
  case hardLinks(UInt64)

  /// What is wrong, as a sentence goes on after the path.
  var text: String {
    switch self {
    case .symbolicLink: "it is a symbolic link, which could lead anywhere"
    case .notFile: "it is not a regular file"
    case .owner(let user): "it belongs to user \(user), and you are user \(geteuid())"
    case .mode(let mode): "others can write to it (mode \(String(mode, radix: 8)))"
    case .hardLinks(let count): "it has \(count) hard links, and what the others are is not known"
    }
  }

  /// What to do about it.
  var advice: String {
    switch self {
    case .symbolicLink, .notFile, .owner:
      "serialq did not put it there. Look at it with ls -ld, and move it away."
    case .mode: "If all that is in it is yours: chmod go-w on that path."
    case .hardLinks: "If all that is in it is yours, put a copy of it in its place."
    }
  }

  /// Names the fault for which `open(2)` itself refuses a path.
  static func named(
    _ open: () throws(SystemError) -> Int32
  ) throws(SystemError) -> Int32 {
    do throws(SystemError) {
      return try open()
    } catch {
      var error = error
      switch error.code {
      case ELOOP: error.fault = .symbolicLink
      // ENXIO is said of a socket.
      case EISDIR, ENXIO: error.fault = .notFile
      default: break
      }
      throw error
    }
  }
}

extension FileDescriptor {
  /// Refuses a file that is not this user's alone, by `fstat(2)`: asked of the open file, as what is
  /// at the path may be another by now.
  ///
  /// One that may have been made just now is 0600 afterwards whatever the umask: one that takes
  /// from the owner too would make a file that cannot be opened again.
  func becomePrivate(for access: Access) throws(SystemError) {
    let status = try status()
    if let fault = status.fault(for: access) {
      throw SystemError("open", EPERM, fault)
    }
    // Was needed only not to wait for a fifo; a job would inherit it with its log.
    let flags = try retrying("fcntl") { fcntl(raw, F_GETFL) }
    _ = try retrying("fcntl") { fcntl(raw, F_SETFL, flags & ~O_NONBLOCK) }
    if access.contains(.create), status.mode != 0o600 {
      try setMode(0o600)
    }
  }
}

extension FileStatus {
  /// What is wrong with it as a file of this user's alone.
  fileprivate func fault(for access: FileDescriptor.Access) -> FileFault? {
    if kind != .file { return .notFile }
    if owner != geteuid() { return .owner(owner) }
    if mode & 0o022 != 0 { return .mode(mode) }
    // Reading does the other file no harm, and jobs may link their logs for keeping.
    return access.isWriting && links > 1 ? .hardLinks(links) : nil
  }
}
