import SerialqQueue
import SerialqRunner
import SerialqSystem

/// A process of `ssh(1)` that connects to a program on another machine.
final class SSH {
  let pid: Int32
  let input: FileDescriptor
  let output: FileDescriptor
  private let errors: FileDescriptor
  /// What ssh, or a login shell there, has written to standard error.
  private(set) var text: Bytes = []
  private var isReaped = false

  /// How long it may take to end after its connection, in nanoseconds.
  private static let patience: Int64 = 2_000_000_000

  /// Starts the program on the machine with this word.
  init(_ address: HostAddress, _ word: Bytes, options: [Bytes]) throws(Failure) {
    let name = Bytes("ssh")
    let (input, output) = (try ProcessPipe(name), try ProcessPipe(name))
    let errors = try ProcessPipe(name)
    let words = [name] + options + [Bytes("--"), address.destination, address.commandLine(word)]
    let start = ProcessStart(
      words, streams: [input.input.raw, output.output.raw, errors.output.raw], leadsSession: false,
      defaultSignals: [SIGPIPE, SIGXFSZ, SIGWINCH, SIGCONT],
      // They are for the command; ssh would end. SIGTERM can still end a connection that is kept.
      blockedSignals: [SIGINT, SIGQUIT, SIGHUP])
    do throws(Failure) {
      pid = try withExtendedLifetime((input, output, errors)) { () throws(Failure) in
        try start.start()
      }
    } catch {
      guard error.number == ENOENT else { throw error }
      throw Failure(
        "ssh", "not found", next: "Nothing was changed. Install OpenSSH, or add its folder to PATH."
      )
    }
    self.input = input.output
    self.output = output.input
    self.errors = errors.input
    try self.errors.setNonBlocking()
  }

  deinit { if !isReaped { kill(pid, SIGKILL) } }

  /// The descriptor of its standard error; nil at the end.
  var errorDescriptor: Int32? { hasClosedErrors ? nil : errors.raw }

  private var hasClosedErrors = false

  /// Reads what it has written to standard error.
  func readErrors() {
    guard let new = try? errors.readSome(HostMessage.piece) else {
      hasClosedErrors = true
      return
    }
    // Bounded: a login shell there could print forever.
    text = (text + new).suffix(4_096)
  }

  /// Closes the connection, and waits for the end of the process.
  func finish() throws(Failure) -> Ending {
    let child = ChildProcess(pid: pid)
    let hasEnded = try Notice(ofEndOf: child)
    let deadline = Clock.monotonic() + Self.patience
    while let descriptor = errorDescriptor {
      // Also until the end of the process: the one that keeps its connection can hold the descriptor.
      let ready = try waitForInput(on: [descriptor, hasEnded.descriptor], until: deadline)
      guard ready[0] else { break }
      readErrors()
    }
    // Still ours: it is not reaped.
    if !hasClosedErrors, try !hasEnded.hasCome() { kill(pid, SIGKILL) }
    isReaped = true
    return try child.reap()
  }

  /// Leaves the process, which ends with its connection.
  func leave() { isReaped = true }

  /// The last line on its standard error, escaped.
  var lastLine: String? {
    let lines = text.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
    return lines.last.map { Visible.text(Bytes($0)) }
  }
}

// MARK: - Options

extension SSH {
  /// The options for a connection that is kept for later calls, at a socket in this folder.
  ///
  /// `%C` is 40 digits, and ssh adds 17 characters while it connects: in a longer path, no
  /// connection is kept.
  static func options(sharing folder: Bytes?) -> [Bytes] {
    var options = [
      "-T", "-o", "LogLevel=ERROR", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=10",
      "-o", "ServerAliveCountMax=3", "-o", "EscapeChar=none",
    ].map { Bytes($0.utf8) }
    guard let folder, folder.count + 1 + 40 + 17 < 104 else { return options }
    // ssh expands % and ${} in the path, and splits it at blanks unless it is quoted.
    let special = Bytes("%$\"\\ '#")
    guard !folder.contains(where: special.contains) else { return options }
    for option in ["ControlMaster=auto", "ControlPersist=10m"] {
      options += [Bytes("-o"), Bytes(option.utf8)]
    }
    return options + [Bytes("-o"), Bytes("ControlPath=") + folder.appending(path: Bytes("%C"))]
  }
}

extension Session {
  /// The folder for the sockets of kept connections; nil if there is none.
  ///
  /// In the user's runtime folder, which does not outlive the machine, else in the spool.
  func connectionFolder() throws(Failure) -> Bytes? {
    if let runtime = Machine.variable("XDG_RUNTIME_DIR"), runtime.first == UInt8(ascii: "/") {
      let folder = runtime.appending(path: Bytes("serialq"))
      do throws(Failure) {
        try Spool.makePrivate(folder)
        return folder
      } catch  where error.number != nil {
        // The folder of another user after `su`, or one that was removed at the logout.
      }
    }
    // Without a home, ssh works too.
    return try (try? spool())?.makeFolder(.connections)
  }
}
