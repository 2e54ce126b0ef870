/// A stream socket of `unix(7)` that listens at a path, for processes of this user only.
///
/// An address has room for only about 100 bytes of a path. A longer path is shortened through
/// `/proc/self/fd`. Where the system lacks that, the current directory of the process changes for a
/// moment: no other thread may use relative paths or start a process meanwhile.
package final class LocalSocket: Sendable {
  /// Readable when a connection waits.
  package let descriptor: FileDescriptor
  /// Given up when the process has no other descriptor left; see ``accept()``.
  nonisolated(unsafe) private var spare: FileDescriptor?

  /// Listens at the path, with mode 0600; replaces a socket that a killed process left there.
  ///
  /// Refuses to remove anything else.
  package init(listeningAt path: Bytes) throws(Failure) {
    let doing: StaticString = "listening at"
    if try Self.isSocket(path, doing) { try FileSystem.remove(path) }
    let socket = try Self.make(path, doing)
    try SocketName.use(path, doing) { (address, length) throws(Failure) in
      _ = try retrying("bind", doing, path) { bind(socket.raw, argument(address), length) }
    }
    descriptor = socket
    do throws(Failure) {
      // Before it listens, so that no other user can connect.
      _ = try retrying("chmod", doing, path: path) { chmod($0, 0o600) }
      _ = try retrying("listen", doing, path) { listen(socket.raw, SOMAXCONN) }
      spare = try Self.openSpare()
    } catch {
      try? FileSystem.remove(path)
      throw error
    }
  }

  /// Accepts a connection, which is non-blocking; call it from one thread at a time.
  ///
  /// Nil if none waits. Also nil, and the connection is closed, if it comes from another user or
  /// the process has no descriptor left: a waiting connection would make every wait return at once.
  package func accept() throws(Failure) -> FileDescriptor? {
    let raw: Int32
    do throws(Failure) {
      raw = try acceptOnce()
    } catch {
      guard error.number == EMFILE || error.number == ENFILE else { throw error }
      spare = nil
      let refused = try? acceptOnce()
      if let refused, refused >= 0 { close(refused) }
      spare = try? Self.openSpare()
      return nil
    }
    guard raw >= 0 else { return nil }
    let connection = FileDescriptor(owning: raw, name: descriptor.name)
    return try Self.peer(of: connection) == Machine.userID() ? connection : nil
  }

  /// Connects to the socket at the path; the connection is non-blocking.
  ///
  /// Nil if there is none or no process listens. Refuses a socket of another user.
  package static func connect(to path: Bytes) throws(Failure) -> FileDescriptor? {
    let doing: StaticString = "connecting to"
    guard try isSocket(path, doing) else { return nil }
    let socket = try make(path, doing)
    do throws(Failure) {
      try SocketName.use(path, doing) { (address, length) throws(Failure) in
        _ = try retrying("connect", doing, path) { systemConnect(socket.raw, address, length) }
      }
    } catch {
      switch error.number {
      case ENOENT, ECONNREFUSED: return nil
      case EAGAIN:
        throw Failure(
          error.what, "too many connections wait to be accepted",
          next: "Try again; if the error persists, the process that listens is stopped.")
      default: throw error
      }
    }
    let user = try peer(of: socket)
    guard user == Machine.userID() else {
      throw Failure(refusing: path, .owner(user), EPERM, doing)
    }
    return socket
  }
}

extension LocalSocket {
  /// Whether a socket of this user is at the path; refuses anything else.
  private static func isSocket(_ path: Bytes, _ doing: StaticString) throws(Failure) -> Bool {
    guard let status = try FileSystem.status(of: path) else { return false }
    let fault: FileFault? =
      switch status.kind {
      case .socket: status.owner == Machine.userID() ? nil : .owner(status.owner)
      case .link: .symbolicLink
      case .file, .folder, .other: .notSocket
      }
    if let fault { throw Failure(refusing: path, fault, EPERM, doing) }
    return true
  }

  /// A socket that is non-blocking and close-on-exec, by `socket(2)`.
  private static func make(
    _ path: Bytes, _ doing: StaticString
  ) throws(Failure) -> FileDescriptor {
    FileDescriptor(owning: try retrying("socket", doing, path) { systemSocket() }, name: path)
  }

  /// Any descriptor, to be closed when the process has no other one left.
  private static func openSpare() throws(Failure) -> FileDescriptor {
    try FileDescriptor.open(Bytes("/dev/null"), .check, followingLinks: true)
  }

  /// Accepts a connection by `accept(2)`; returns -1 if none waits.
  private func acceptOnce() throws(Failure) -> Int32 {
    let listener = descriptor.raw
    do throws(Failure) {
      return try retrying("accept", "accepting at", descriptor.name, unless: EAGAIN) {
        systemAccept(listener)
      }
    } catch {
      // The other end was closed again before it was accepted.
      guard error.number == ECONNABORTED else { throw error }
      return -1
    }
  }

  /// The user of the process at the other end, when it connected or began to listen.
  private static func peer(of socket: FileDescriptor) throws(Failure) -> UInt32 {
    let raw = socket.raw
    #if os(Linux)
      var peer = ucred()
      var size = socklen_t(MemoryLayout<ucred>.size)
      _ = try retrying("getsockopt", "checking", socket.name) {
        getsockopt(raw, SOL_SOCKET, SO_PEERCRED, &peer, &size)
      }
      return peer.uid
    #else
      var (user, group) = (uid_t(), gid_t())
      _ = try retrying("getpeereid", "checking", socket.name) { getpeereid(raw, &user, &group) }
      return user
    #endif
  }
}

/// Addresses of sockets of `unix(7)`.
private enum SocketName {
  /// Calls `body` with the address of the socket at a path of any length.
  static func use(
    _ path: Bytes, _ doing: StaticString,
    _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Failure) -> Void
  ) throws(Failure) {
    guard path.count >= room else { return try withAddress(path, body) }
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else {
      throw Failure("bind", ENAMETOOLONG, doing, path)
    }
    let name = Bytes(path[(slash + 1)...])
    let folder = try FileDescriptor.open(Bytes(path[...slash]), .place, followingLinks: true)
    #if os(Linux)
      let short = Bytes("/proc/self/fd/\(folder.raw)".utf8).appending(path: name)
      guard short.count < room else { throw Failure("bind", ENAMETOOLONG, doing, path) }
      try withExtendedLifetime(folder) { () throws(Failure) in try withAddress(short, body) }
    #else
      guard name.count < room else { throw Failure("bind", ENAMETOOLONG, doing, path) }
      let here = try FileDescriptor.open(Bytes("."), .place, followingLinks: true)
      _ = try retrying("fchdir", doing, path) { fchdir(folder.raw) }
      let result = Result { () throws(Failure) in try withAddress(name, body) }
      _ = try retrying("fchdir", "returning to the current directory") { fchdir(here.raw) }
      try result.get()
    #endif
  }

  /// The longest path and the NUL after it.
  private static var room: Int { MemoryLayout.size(ofValue: sockaddr_un().sun_path) }

  private static func withAddress(
    _ name: Bytes, _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Failure) -> Void
  ) throws(Failure) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let length = socklen_t(MemoryLayout<sockaddr_un>.size)
    try withUnsafePointer(to: &address) { (pointer) throws(Failure) in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { (pointer) throws(Failure) in
        try body(pointer, length)
      }
    }
  }
}

#if canImport(Glibc)
  /// An address as glibc declares it.
  private func argument(_ address: UnsafePointer<sockaddr>) -> __CONST_SOCKADDR_ARG {
    __CONST_SOCKADDR_ARG(__sockaddr__: address)
  }
#else
  /// An address as the system declares it.
  private func argument(_ address: UnsafePointer<sockaddr>) -> UnsafePointer<sockaddr> { address }
#endif

/// `connect(2)`, which the static method of a similar name hides.
private func systemConnect(
  _ raw: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t
) -> Int32 {
  connect(raw, argument(address), length)
}

/// `socket(2)` for a stream of `unix(7)`; non-blocking and close-on-exec.
private func systemSocket() -> Int32 {
  #if os(Linux)
    let type = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
    return socket(AF_UNIX, Int32(type), 0)
  #else
    return protected(socket(AF_UNIX, SOCK_STREAM, 0))
  #endif
}

/// `accept(2)`; non-blocking and close-on-exec.
private func systemAccept(_ listener: Int32) -> Int32 {
  #if os(Linux)
    accept4(
      listener, __SOCKADDR_ARG(__sockaddr__: nil), nil,
      Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue))
  #else
    protected(accept(listener, nil, nil))
  #endif
}

#if !os(Linux)
  /// Makes a new descriptor non-blocking and close-on-exec, where no call does both at once.
  private func protected(_ raw: Int32) -> Int32 {
    if raw >= 0 {
      _ = fcntl(raw, F_SETFD, FD_CLOEXEC)
      _ = fcntl(raw, F_SETFL, O_NONBLOCK)
    }
    return raw
  }
#endif
