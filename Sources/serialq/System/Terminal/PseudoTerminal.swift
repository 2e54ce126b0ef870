/// A new pseudo-terminal for a job, as `pty(7)` describes it.
///
/// Neither end is inherited by children unless they are given it, nor becomes the controlling
/// terminal of this process.
package final class PseudoTerminal: Sendable {
  package let master: FileDescriptor
  /// The path of the slave, such as `/dev/pts/7`.
  package let path: Bytes
  /// Held until the job has it open: a master without a slave reports its end.
  private let slave: FileDescriptor

  /// Opens both ends, by `posix_openpt(3)` and `ptsname_r(3)`.
  package init(_ size: TerminalWindow) throws(Failure) {
    let (doing, device): (StaticString, Bytes) = ("opening", Bytes("/dev/ptmx"))
    #if canImport(Darwin)
      let flags = O_RDWR | O_NOCTTY
    #else
      let flags = O_RDWR | O_NOCTTY | O_CLOEXEC
    #endif
    master = FileDescriptor(
      owning: try retrying("posix_openpt", doing, device) { posix_openpt(flags) },
      name: Bytes("the terminal of the job"))
    let raw = master.raw
    _ = try retrying("fcntl", doing, device) { fcntl(raw, F_SETFD, FD_CLOEXEC) }
    _ = try retrying("grantpt", doing, device) { grantpt(raw) }
    _ = try retrying("unlockpt", doing, device) { unlockpt(raw) }
    path = try Self.slavePath(of: master)
    slave = try Self.openSlave(path)
    _ = try retrying("ioctl", doing, device) { size.apply(to: raw) }
    Self.setInitialMode(slave.raw)
  }

  /// The path of the slave of a master, by `ptsname_r(3)`.
  static func slavePath(of master: FileDescriptor) throws(Failure) -> Bytes {
    var name = [CChar](repeating: 0, count: 128)
    let error = ptsname_r(master.raw, &name, name.count)
    if error != 0 { throw Failure("ptsname_r", error, "finding the terminal of the job") }
    return Bytes(cString: name)
  }

  /// Opens the slave, which does not become the controlling terminal.
  static func openSlave(_ path: Bytes) throws(Failure) -> FileDescriptor {
    try FileDescriptor.open(path, .terminal, followingLinks: true)
  }

  /// Makes the backspace key erase a character of UTF-8, not a byte of it, by IUTF8, and Ctrl-S an
  /// ordinary key, by IXON.
  ///
  /// Terminal emulators set the first. With the second, a user who types Ctrl-S and leaves would
  /// stop the job. Ignores errors: the job can still be used.
  private static func setInitialMode(_ descriptor: Int32) {
    var mode = termios()
    guard tcgetattr(descriptor, &mode) == 0 else { return }
    mode.c_iflag |= tcflag_t(IUTF8)
    mode.c_iflag &= ~tcflag_t(IXON)
    tcsetattr(descriptor, TCSANOW, &mode)
  }
}
