import Testing

@testable import SerialqSystem

@Suite struct TerminalModeTests {
  private func flags(_ descriptor: Int32) throws -> [tcflag_t] {
    var mode = termios()
    try #require(tcgetattr(descriptor, &mode) == 0)
    return [mode.c_iflag, mode.c_oflag, mode.c_cflag, mode.c_lflag]
  }

  /// Whether the signal that stops a background process is blocked in this thread.
  private func isBlocked() -> Bool {
    var set = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &set)
    return sigismember(&set, SIGTTOU) == 1
  }

  // Fails if a key is echoed, makes a signal or is changed, or if a mode is not restored.
  @Test("the raw mode is set and the mode before it restored")
  func raw() throws {
    let terminal = try PseudoTerminal(TerminalWindow(columns: 80, rows: 24))
    let slave = try FileDescriptor.open(terminal.path, .terminal, followingLinks: true)
    let before = try flags(slave.raw)
    // Dispatch blocks all signals in its threads.
    var signal = sigset_t()
    var signals = sigset_t()
    sigemptyset(&signal)
    sigaddset(&signal, SIGTTOU)
    pthread_sigmask(SIG_UNBLOCK, &signal, &signals)
    defer { pthread_sigmask(SIG_SETMASK, &signals, nil) }
    let mode = try #require(TerminalMode(of: slave.raw))
    mode.setRaw(on: slave.raw)
    let raw = try flags(slave.raw)
    #expect(raw[0] & tcflag_t(ICRNL | IXON | ISTRIP) == 0)
    #expect(raw[1] & tcflag_t(OPOST) == 0)
    #expect(raw[3] & tcflag_t(ECHO | ICANON | ISIG | IEXTEN) == 0)
    mode.restore(on: slave.raw)
    #expect(try flags(slave.raw) == before)
    // Otherwise the shell could no longer stop this program.
    #expect(!isBlocked())
  }

  // Fails if a pipe or file has a mode.
  @Test("what is no terminal has no mode")
  func none() throws {
    let file = try FileDescriptor.open(Bytes("/dev/null"), .check, followingLinks: true)
    #expect(TerminalMode(of: file.raw) == nil)
  }
}
