/// The mode of the user's own terminal, to restore after a change.
package struct TerminalMode: Sendable {
  private let mode: termios

  /// Reads the mode by `tcgetattr(3)`; nil if the descriptor is not a terminal.
  package init?(of descriptor: Int32) {
    var mode = termios()
    guard tcgetattr(descriptor, &mode) == 0 else { return nil }
    self.mode = mode
  }

  /// Delivers every key as it is typed and shows every byte as it is written, by `cfmakeraw(3)`: no
  /// echo, no signals, no changes of line ends.
  package func setRaw(on descriptor: Int32) {
    var raw = mode
    cfmakeraw(&raw)
    Self.set(raw, on: descriptor)
  }

  /// Restores the mode.
  package func restore(on descriptor: Int32) {
    Self.set(mode, on: descriptor)
  }

  /// Sets the mode by `tcsetattr(3)` at once; ignores errors, such as after a hangup.
  ///
  /// Waiting until the output is written would block on a stopped terminal.
  private static func set(_ mode: termios, on descriptor: Int32) {
    var mode = mode
    // It stops a process in the background that changes the mode, unless the process blocks it.
    var signals = signalSet([SIGTTOU])
    var before = sigset_t()
    pthread_sigmask(SIG_BLOCK, &signals, &before)
    while tcsetattr(descriptor, TCSANOW, &mode) == -1, errno == EINTR {}
    pthread_sigmask(SIG_SETMASK, &before, nil)
  }
}
