import SerialqQueue
import SerialqRunner
import SerialqSystem

/// The words of `ssh(1)`.
enum SSH {
  /// The options for a connection that is kept for later calls, at a socket in this folder.
  ///
  /// `%C` is 40 digits, and ssh adds 17 characters while it connects: in a longer path, no
  /// connection is kept.
  static func options(sharing folder: Bytes?) -> [Bytes] {
    var options = [
      "-o", "LogLevel=ERROR", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=10",
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

  /// How many bytes the command line for the other machine can have: less than Linux accepts as an
  /// argument.
  static let limit = 128_000
}

extension Session {
  /// Carries out a command on another machine, by `ssh(1)`; `readsInput` is whether it reads
  /// standard input.
  func call(
    _ address: HostAddress, _ words: [Bytes], readsInput: Bool
  ) throws(Failure) -> ExitCode {
    let variables = ["COLORTERM", "COLUMNS", "NO_COLOR", "TERM"] as [StaticString]
    let call = HostCall(
      host: address.name, version: Bytes(CommandTable.version.utf8),
      variables: variables.compactMap { name in
        Machine.variable(name).map { Bytes("\(name)=".utf8) + $0 }
      }, words: words)
    let line = address.commandLine(for: call)
    guard line.count <= SSH.limit else {
      throw Failure(
        "host \(address.text)", "the arguments are too long for ssh",
        next: """
          Nothing was changed. They can have about \(SSH.limit / 2) bytes. Write the command lines \
          to a file: serialq --host \(ShellQuote.word(address.name)) add -f - <FILE
          """)
    }
    // With a terminal there, keys and the size of this one reach it. It has only one output.
    let isOnTerminal = (STDIN_FILENO...STDERR_FILENO).allSatisfy { isatty($0) == 1 }
    // Without `-n`, ssh reads what is meant for others: the rest of a script.
    let input = isOnTerminal ? "-t" : readsInput ? "-T" : "-nT"
    let ending = try Foreground.run(
      [Bytes("ssh")] + SSH.options(sharing: try connectionFolder())
        + [Bytes(input.utf8), Bytes("--"), address.destination, line],
      passing: [SIGINT, SIGQUIT, SIGTERM, SIGHUP])
    switch ending {
    case .killed(let signal): return .ended(by: signal)
    // After Ctrl-C, which reaches only the other machine: it cannot report a signal; see `obey`.
    case .exited(128 + SIGINT) where isOnTerminal: return .ended(by: SIGINT)
    case .exited(255):
      output.message(
        """
        serialq: host \(address.text): ssh ended with exit code 255, as after a lost connection
        What was queued there stays. See: serialq --host \(ShellQuote.word(address.name)) queues
        """)
    default: break
    }
    return ending.shellCode
  }

  /// Carries out a command that another machine calls.
  mutating func perform(_ call: HostCall) throws(Failure) -> ExitCode {
    for variable in call.variables { Machine.set(variable) }
    if isatty(STDOUT_FILENO) == 0 { try Foreground.hangUpWithReader(of: STDOUT_FILENO) }
    do throws(Failure) {
      let queue = Machine.variable("SERIALQ_QUEUE")
      return try perform(try Invocation.parse(call.words, queueVariable: queue))
    } catch {
      guard call.version != Bytes(CommandTable.version.utf8) else { throw error }
      let theirs = Visible.text(call.version)
      throw error.adding(
        "serialq there is version \(CommandTable.version), and this is \(theirs).")
    }
  }

  /// The folder for the sockets of kept connections; nil if there is none.
  ///
  /// In the user's runtime folder, which does not outlive the machine, else in the spool.
  private func connectionFolder() throws(Failure) -> Bytes? {
    if let runtime = Machine.variable("XDG_RUNTIME_DIR"), runtime.first == UInt8(ascii: "/") {
      let folder = runtime.appending(path: Bytes("serialq"))
      do throws(Failure) {
        try Spool.makePrivate(folder)
        return folder
      } catch {
        // The folder of another user after `su`, or one that was removed at the logout.
      }
    }
    // Without a home, ssh works too.
    return try (try? spool())?.makeConnections()
  }
}

extension Invocation {
  /// Whether this is for this machine, whatever host is named.
  var isLocal: Bool {
    switch self {
    case .command(let command): command is HelpCommand || command is CompletionCommand
    case .backgroundRunner, .terminalKeeper: true
    }
  }

  /// Whether the command reads standard input.
  var readsInput: Bool {
    guard case .command(let command) = self else { return false }
    let input = Bytes("-")
    switch command {
    case let add as AddCommand: return add.source == .file(input) || add.job.input == input
    case let run as RunCommand: return run.source == .file(input) || run.job.input == input
    default: return false
    }
  }
}
