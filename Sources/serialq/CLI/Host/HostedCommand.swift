import SerialqQueue
import SerialqRunner
import SerialqSystem

/// The process of a command that another machine called, and what it prints.
final class HostedCommand {
  /// The word with which the process is started; the key of the call, the seconds since it was made,
  /// and the words follow.
  static let word = Bytes("host-call")

  private let process: ChildProcess
  private let pid: Int32
  /// A terminal in place of each of the caller's.
  private let terminal: ServedTerminal?
  private var streams: [Stream]
  private let hasEnded: Notice
  private var isEnded = false
  private var buffer: Bytes = []
  private var keys: Bytes = []

  /// Where output comes from, and how it is sent.
  private struct Stream {
    /// Nil for the terminal.
    var pipe: FileDescriptor?
    var isErrors: Bool
    var isAtEnd = false
  }

  /// Starts the command; `input` is its standard input if it reads all of that.
  init(_ call: HostCall, input: FileDescriptor?) throws(Failure) {
    try Machine.requireThreads(2)
    let pty = call.terminals.contains(true) ? try PseudoTerminal(call.window) : nil
    let empty = try FileDescriptor.open(Bytes("/dev/null"), .check, followingLinks: true)
    let input = input ?? (call.terminals[0] && call.input != .all ? nil : empty)
    let output = call.terminals[1] ? nil : try ProcessPipe(Bytes("standard output"))
    let errors = call.terminals[2] ? nil : try ProcessPipe(Bytes("standard error"))
    if let pty {
      let served = try ServedTerminal(master: pty.master)
      // The caller's terminal interprets output and keys, unless it is raw.
      if call.input != .keys { served.setTransparent() }
      terminal = served
    } else {
      terminal = nil
    }
    let words =
      [Machine.program(), Self.word, call.key, Bytes("\(call.elapsed)".utf8)] + call.words
    let start = ProcessStart(
      words, environment: Self.environment(call), terminal: pty?.path,
      streams: [input?.raw, output?.output.raw, errors?.output.raw], leadsSession: true,
      defaultSignals: [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXFSZ])
    pid = try withExtendedLifetime((input, output, errors, pty)) { () throws(Failure) in
      try start.start()
    }
    process = ChildProcess(pid: pid)
    streams = [output.map { Stream(pipe: $0.input, isErrors: false) }].compactMap(\.self)
    if let errors { streams.append(Stream(pipe: errors.input, isErrors: true)) }
    if terminal != nil { streams.append(Stream(pipe: nil, isErrors: !call.terminals[1])) }
    hasEnded = try Notice(ofEndOf: process)
    for stream in streams { try stream.pipe?.setNonBlocking() }
  }

  /// The environment of a login there, with the variables of the caller's terminal.
  private static func environment(_ call: HostCall) -> [Bytes] {
    let own = HostCall.variableNames.map { Bytes("\($0)=".utf8) }
    let kept = Machine.environment().filter { variable in
      !own.contains { variable.starts(with: $0) }
    }
    return kept + call.variables.filter { variable in own.contains { variable.starts(with: $0) } }
  }

  /// What to wait for; with `readsOutput` false, only for the end.
  func interests(readsOutput: Bool) -> [(Int32, Interest)] {
    let reads: Interest = readsOutput ? .read : .none
    var list: [(Int32, Interest)] = [(hasEnded.descriptor, .read)]
    for stream in streams where stream.pipe != nil {
      list.append((stream.pipe?.raw ?? -1, stream.isAtEnd ? .none : reads))
    }
    if let terminal {
      let interest: Interest =
        switch (readsOutput, keys.isEmpty) {
        case (true, true): .read
        case (true, false): .both
        case (false, false): .write
        case (false, true): .none
        }
      list.append((terminal.master.raw, interest))
    }
    return list
  }

  /// Reads what the command has printed, as much as there is now but not more than a piece of each;
  /// returns false if there was nothing.
  func read(_ send: (HostMessage) -> Void) throws(Failure) -> Bool {
    var hasRead = false
    for index in streams.indices where !streams[index].isAtEnd {
      let stream = streams[index]
      let bytes =
        if let pipe = stream.pipe { try pipe.readSome(HostMessage.piece) } else {
          try terminal?.read(&buffer)
        }
      guard let bytes else {
        streams[index].isAtEnd = true
        continue
      }
      if bytes.isEmpty { continue }
      hasRead = true
      send(stream.isErrors ? .errors(bytes) : .output(bytes))
    }
    return hasRead
  }

  /// How the command ended, after everything that it had printed; nil while it runs.
  func end(_ send: (HostMessage) -> Void) throws(Failure) -> Ending? {
    guard !isEnded, try hasEnded.hasCome() else { return nil }
    while try read(send) {}
    isEnded = true
    return try process.reap()
  }

  /// Types keys.
  func type(_ new: Bytes) throws(Failure) {
    guard let terminal else { return }
    keys += new
    if !keys.isEmpty { keys.removeFirst(try terminal.write(keys)) }
  }

  func setSize(_ window: TerminalWindow) { terminal?.setSize(window) }

  /// Closes the end of standard output, as that of the caller is.
  func closeOutput() {
    // A terminal has its own hangup.
    streams.removeAll { $0.pipe != nil && !$0.isErrors }
  }

  /// Sends a signal to the command and what it has started in its group, as a terminal does.
  func signal(_ number: Int32) {
    if !isEnded { kill(-pid, number) }
  }
}
