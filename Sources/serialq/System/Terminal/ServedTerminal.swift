/// The master of a job's pseudo-terminal in the process that serves it.
///
/// Holds the slave open too: otherwise reads would fail while the job has it closed, and not only
/// after the end of the job.
package final class ServedTerminal: Sendable {
  /// Non-blocking; readable when the job has written something.
  package let master: FileDescriptor
  private let slave: FileDescriptor

  /// The most bytes that ``read()`` returns, except for less than a page.
  private static let most = 1 << 16

  /// Makes the master non-blocking, and opens its slave.
  package init(master: FileDescriptor) throws(Failure) {
    self.master = master
    slave = try PseudoTerminal.openSlave(PseudoTerminal.slavePath(of: master))
    try master.setNonBlocking()
  }

  /// The size of the terminal.
  package var size: TerminalWindow { TerminalWindow(of: master.raw) }

  /// Changes the size, of which the foreground processes are notified by SIGWINCH; ignores errors.
  package func setSize(_ size: TerminalWindow) {
    size.apply(to: master.raw)
  }

  /// Whether typed characters are not shown although the terminal is in line mode: as at a prompt
  /// for a password.
  ///
  /// An editor or shell shows them itself, and turns line mode off.
  package var hidesInput: Bool {
    var mode = termios()
    guard tcgetattr(slave.raw, &mode) == 0 else { return false }
    return mode.c_lflag & tcflag_t(ICANON) != 0 && mode.c_lflag & tcflag_t(ECHO) == 0
  }

  /// Reads what the job has written, at most 64 KB: nothing if there is nothing now, nil at the
  /// end.
  package func read() throws(Failure) -> Bytes? {
    var all = Bytes()
    // The system returns at most a page at a time.
    while all.count < Self.most {
      guard let page = try master.readSome(4096) else { return all.isEmpty ? nil : all }
      if page.isEmpty { break }
      all += page
    }
    return all
  }
}
