/// Why a file in a queue is not private to its owner, so that serialq refuses to open it.
///
/// The commands in a queue run with the rights of its owner. A user who once had write access to
/// the folder may have left a symbolic link that redirects writes, a fifo that blocks the open, or
/// a journal of their own commands.
package enum FileFault: Equatable, Sendable {
  case symbolicLink
  /// A folder, fifo, socket or device.
  case notFile
  /// Anything but a socket, where one is expected.
  case notSocket
  case owner(UInt32)
  /// The file is writable by group or others.
  case mode(UInt32)
  /// The file is opened for writing and has other hard links, so a write would change another file
  /// too.
  case hardLinks(UInt64)

  /// The reason, as a clause to follow the path.
  var text: String {
    switch self {
    case .symbolicLink: "it is a symbolic link, which could point anywhere"
    case .notFile: "it is not a regular file"
    case .notSocket: "it is not a socket"
    case .owner(let user): "it belongs to user \(user), and you are user \(Machine.userID())"
    case .mode(let mode): "others can write to it (mode \(String(mode, radix: 8)))"
    case .hardLinks(let count): "it has \(count) hard links, and the others are unknown"
    }
  }

  /// The next step for the user.
  var advice: String {
    switch self {
    case .symbolicLink, .notFile, .notSocket, .owner:
      "serialq did not create it. Check it with ls -ld, and move it away."
    case .mode: "If all of its content is yours, run chmod go-w on that path."
    case .hardLinks: "If all of its content is yours, replace it with a copy."
    }
  }

  /// Names the fault if `open(2)` itself refused the path because of it.
  static func named(
    _ failure: Failure, _ path: Bytes, _ access: FileDescriptor.Access
  ) -> Failure {
    switch failure.number {
    case ELOOP?: Failure(refusing: path, .symbolicLink, ELOOP, access.doing)
    // `open(2)` fails with ENXIO for a socket.
    case EISDIR?, ENXIO?: Failure(refusing: path, .notFile, EISDIR, access.doing)
    default: failure
    }
  }
}

extension FileDescriptor {
  /// Fails unless the file is private to this user.
  ///
  /// Checks the open file by `fstat(2)`: the path may name a different file by now. Sets the mode
  /// of a file that this call may have created to 0600. A umask that clears the owner's bits would
  /// create a file that cannot be opened again. Truncates the file if `open(2)` should have.
  func becomePrivate(for access: Access) throws(Failure) {
    let status = try status()
    if let fault = status.fault(for: access) {
      throw Failure(refusing: name, fault, EPERM, access.doing)
    }
    if access.isInherited {
      // O_NONBLOCK kept a fifo from blocking `open`. For a regular file it means nothing, but a job
      // could pass it on with its output.
      _ = try retrying("fcntl", access.doing, name) {
        fcntl(raw, F_SETFL, access.flags & ~O_NONBLOCK)
      }
    }
    if access.has(O_CREAT), status.mode != 0o600 { try setMode(0o600) }
    if access.has(O_TRUNC), status.size > 0 { try truncate(to: 0) }
  }
}

extension FileStatus {
  /// Why the file is not private to this user; nil if it is.
  fileprivate func fault(for access: FileDescriptor.Access) -> FileFault? {
    if kind != .file { return .notFile }
    if owner != Machine.userID() { return .owner(owner) }
    if mode & 0o022 != 0 { return .mode(mode) }
    // Reading is harmless, and a job may hard-link its log to keep it.
    return access.isWriting && links > 1 ? .hardLinks(links) : nil
  }
}
