/// The master of a job's pseudo-terminal in the process that serves it.
///
/// Holds the slave open too: otherwise reads would fail while the job has it closed, and not only
/// after the end of the job.
package final class ServedTerminal: Sendable {
  /// Non-blocking; readable when the job has written something.
  package let master: FileDescriptor
  private let slave: FileDescriptor

  /// The most bytes that ``read(_:)`` returns.
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

  /// Reads what the job has written: nothing if there is nothing now, nil at the end.
  ///
  /// `buffer` is overwritten; reusing it saves allocations. Returns at most 64 KB.
  package func read(_ buffer: inout Bytes) throws(Failure) -> Bytes? {
    if buffer.count < Self.most { buffer = Bytes(repeating: 0, count: Self.most) }
    var filled = 0
    var isEnd = false
    // The system returns at most a page at a time.
    while filled < Self.most, !isEnd {
      guard let count = try readOnce(&buffer, from: filled) else { break }
      filled += count
      isEnd = count == 0
    }
    return isEnd && filled == 0 ? nil : Bytes(buffer[..<filled])
  }

  /// Reads once; returns 0 at the end, and nil if there is nothing now.
  private func readOnce(_ buffer: inout Bytes, from start: Int) throws(Failure) -> Int? {
    let raw = master.raw
    do throws(Failure) {
      let count = try retrying("read", "reading", master.name, unless: EAGAIN) {
        buffer.withUnsafeMutableBytes { bytes in
          systemRead(raw, bytes.baseAddress?.advanced(by: start), Self.most - start)
        }
      }
      return count < 0 ? nil : count
    } catch {
      // No process has the slave open, as after `vhangup(2)`.
      guard error.number == EIO else { throw error }
      return 0
    }
  }
}

/// `read(2)`, which the method of the same name hides.
private func systemRead(_ raw: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(raw, buffer, count)
}
