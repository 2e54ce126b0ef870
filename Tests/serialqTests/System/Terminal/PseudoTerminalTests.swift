import Testing

@testable import SerialqSystem

@Suite struct PseudoTerminalTests {
  private func slave(of terminal: PseudoTerminal) throws -> FileDescriptor {
    try FileDescriptor.open(terminal.path, .terminal, followingLinks: true)
  }

  private func mode(of slave: FileDescriptor) throws -> termios {
    var mode = termios()
    try #require(tcgetattr(slave.raw, &mode) == 0)
    return mode
  }

  /// A terminal that only its server holds open, and the path of its slave.
  private func served() throws -> (ServedTerminal, Bytes) {
    let new = try PseudoTerminal(TerminalWindow(columns: 80, rows: 24))
    return (try ServedTerminal(master: new.master), new.path)
  }

  private func change(_ slave: FileDescriptor, _ change: (inout termios) -> Void) throws {
    var mode = try mode(of: slave)
    change(&mode)
    try #require(tcsetattr(slave.raw, TCSANOW, &mode) == 0)
  }

  // Fails if an end is inherited by every child, the size is not set, or the backspace key erases
  // half of a character.
  @Test("a new terminal has the size, is not inherited and edits lines of UTF-8")
  func new() throws {
    let terminal = try PseudoTerminal(TerminalWindow(columns: 132, rows: 43))
    let slave = try slave(of: terminal)
    #expect(TerminalWindow(of: slave.raw) == TerminalWindow(columns: 132, rows: 43))
    #expect(fcntl(terminal.master.raw, F_GETFD) & FD_CLOEXEC != 0)
    #expect(try mode(of: slave).c_iflag & tcflag_t(IUTF8) != 0)
    #expect(isatty(slave.raw) == 1)
  }

  // Fails if 0 is used as a size: programs divide by it.
  @Test("an unknown size is 80 by 24")
  func unknownSize() {
    #expect(TerminalWindow(columns: 0, rows: 0) == TerminalWindow(columns: 80, rows: 24))
    #expect(TerminalWindow(columns: 132, rows: 0) == TerminalWindow(columns: 132, rows: 24))
  }

  // Fails if the slave is not held open: the master reports EIO until the job opens it again.
  @Test("the output of a job is read also while no process has the terminal open")
  func output() throws {
    let (terminal, path) = try served()
    #expect(try terminal.read() == [])
    for text in [Bytes("one\n"), Bytes("two\n")] {
      let job = try FileDescriptor.open(path, .terminal, followingLinks: true)
      try job.writeAll(text)
      withExtendedLifetime(job) {}
      var read = Bytes()
      // The system passes it on a moment later.
      while read.last != UInt8(ascii: "\n") {
        #expect(try waitForInput(on: [terminal.master.raw], until: nil) == [true])
        read += try #require(try terminal.read())
      }
      #expect(read == text.dropLast() + Bytes("\r\n"))
      #expect(try terminal.read() == [])
    }
  }

  // Fails if a full terminal blocks the keeper, or if keys are lost.
  @Test("keys that the job does not read are accepted only as far as there is room")
  func keys() throws {
    let new = try PseudoTerminal(TerminalWindow(columns: 80, rows: 24))
    let terminal = try ServedTerminal(master: new.master)
    let slave = try slave(of: new)
    // Otherwise the terminal drops what exceeds a line.
    try change(slave) { cfmakeraw(&$0) }
    let keys = Bytes((0..<100_000).map { UInt8(33 + $0 % 90) })
    var (written, read) = (0, Bytes())
    try slave.setNonBlocking()
    while read.count < keys.count {
      written += try terminal.master.writeSome(keys[written...])
      let interest: Interest = written < keys.count ? .write : .none
      _ = try waitForReadiness([(terminal.master.raw, interest), (slave.raw, .read)], until: nil)
      read += try slave.readSome(1 << 16) ?? []
    }
    #expect(read == keys)
    // What is accepted is a part: nothing reads it.
    let accepted = try terminal.master.writeSome(keys[...])
    #expect(accepted < keys.count)
    #expect(try terminal.master.writeSome([]) == 0)
  }

  // Fails if an editor, which shows the keys itself, counts as a prompt for a password.
  @Test("input is hidden if the terminal does not echo but edits lines")
  func hidden() throws {
    let new = try PseudoTerminal(TerminalWindow(columns: 80, rows: 24))
    let terminal = try ServedTerminal(master: new.master)
    let slave = try slave(of: new)
    #expect(!terminal.hidesInput)
    try change(slave) { $0.c_lflag &= ~tcflag_t(ECHO) }
    #expect(terminal.hidesInput)
    try change(slave) { $0.c_lflag &= ~tcflag_t(ICANON) }
    #expect(!terminal.hidesInput)
  }

  // Fails if the limit on terminals is reported as a full disk.
  @Test("the advice for too many terminals is not about the disk")
  func limit() {
    let failure = Failure("posix_openpt", ENOSPC, "opening", Bytes("/dev/ptmx"))
    #expect(failure.next.contains("kernel.pty.max"))
  }
}
