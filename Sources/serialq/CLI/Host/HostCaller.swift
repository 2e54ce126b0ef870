import SerialqQueue
import SerialqRunner
import SerialqSystem

/// Carries out a command on another machine: connects, passes on input, output and signals, and
/// connects again if the connection is lost.
struct HostCaller {
  private let address: HostAddress
  private let plan: HostPlan
  private let failure: HostFailure
  private let options: [Bytes]
  private var call: HostCall
  private var stream: CallStream
  private var reconnection = Reconnection()
  private let began = Clock.monotonic()
  /// Whether the machine has answered on any connection.
  private var wasAnswered = false
  private var hasPrinted = false
  /// How many bytes of standard output were printed, and how many of those come again.
  private var printed = 0
  private var repeated = 0
  private var version = CommandTable.version
  private let wakeUp: WakeUpPipe
  private let signals: CallerSignals
  private let mode: TerminalMode?
  private var trace = TerminalTrace()
  /// Whether the terminal is as the command there has changed it.
  private var isTerminalChanged = false
  /// Standard input; nil if nothing is read, or at its end.
  private var input: FileDescriptor?
  private var hasReportedClosedOutput = false

  /// How a connection ended.
  private enum Connected {
    case ended(Ending)
    case lost(isAnswered: Bool)
  }

  init(_ address: HostAddress, _ plan: HostPlan, _ words: [Bytes], options: [Bytes]) throws(Failure)
  {
    self.address = address
    self.plan = plan
    self.options = options
    failure = HostFailure(address: address, plan: plan)
    try Machine.requireThreads(2)
    let wakeUp = try WakeUpPipe()
    self.wakeUp = wakeUp
    let mode = TerminalMode(of: STDIN_FILENO)
    self.mode = mode
    signals = CallerSignals(restoring: mode) { wakeUp.wake() }
    call = HostCall(key: HostCall.newKey(), words: words)
    call.input = plan.input == .keys && mode == nil ? .none : plan.input
    call.terminals = [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].map { isatty($0) == 1 }
    call.variables = HostCall.variableNames.compactMap { name in
      Machine.variable(name).map { Bytes("\(name)=".utf8) + $0 }
    }
    stream = CallStream(keepsAll: call.input == .all)
    switch call.input {
    case .none: input = nil
    case .all: input = try .standardInput()
    case .keys:
      try Attachment.awaitForeground()
      input = try .terminal(of: STDIN_FILENO)
    }
  }

  /// Carries out the command; returns its exit code.
  mutating func run(in session: inout Session) throws(Failure) -> ExitCode {
    while true {
      prepareCall()
      let ssh = try SSH(address, HostAddress.serverWord, options: options)
      signals.note(ssh: ssh.pid)
      do throws(Failure) {
        switch try converse(by: ssh, in: &session) {
        case .ended(let how):
          leaveTerminal(&session)
          ssh.leave()
          return try end(how, in: &session)
        case .lost(let isAnswered):
          stream.disconnect()
          signals.noteLoss(wasAnswered ? failure.lost(hasPrinted: hasPrinted) : nil)
          leaveTerminal(&session, isLost: true)
          try connectAgain(after: ssh, isAnswered: isAnswered, in: session)
          call.attempt += 1
        }
      } catch {
        // What was typed for the command there must not become a command here.
        if call.input == .keys, TerminalWindow.isOurs(STDIN_FILENO) {
          tcflush(STDIN_FILENO, TCIFLUSH)
        }
        leaveTerminal(&session)
        throw error
      }
    }
  }

  private mutating func prepareCall() {
    call.received = stream.received
    call.elapsed = Int((Clock.monotonic() - began) / 1_000_000_000)
    let window = call.terminals.firstIndex(of: true).map { TerminalWindow(of: Int32($0)) }
    call.window = window ?? TerminalWindow(columns: 0, rows: 0)
    let isComplete = call.input != .all || stream.isComplete
    call.mayBegin =
      call.attempt == 1
      || isComplete && plan.beginsAgain(wasAnswered: wasAnswered, hasPrinted: hasPrinted)
  }

  // MARK: One connection

  private mutating func converse(
    by ssh: SSH, in session: inout Session
  ) throws(Failure) -> Connected {
    var connection = try HostConnection(input: ssh.output, output: ssh.input)
    connection.send(.call(call))
    var isAnswered = false
    while true {
      takeSignals()
      connection.flush(&stream)
      let readsInput = isAnswered && !stream.isFull ? input?.raw : nil
      let ready = try waitForReadiness(
        [
          (connection.input.raw, .read), (connection.output.raw, connection.outputInterest),
          (ssh.errorDescriptor ?? -1, .read), (readsInput ?? -1, .read), (wakeUp.descriptor, .read),
        ], until: nil)
      // The reason if the machine does not answer. Later it is of no use: that the connection is lost,
      // or that another call has made one that is kept.
      if ready[2].isReadable { ssh.readErrors() }
      if ready[3].isReadable, readsInput != nil { try readInput() }
      guard ready[0].isReadable else { continue }
      let isOpen = connection.read()
      while case let next = connection.next(), next != .incomplete {
        guard case .message(let message) = next else { throw failure.garbled }
        if case .greeting(let greeting) = message, !isAnswered {
          try answer(greeting, in: &session)
          isAnswered = true
        } else if let how = take(message, in: &session) {
          connection.send(stream.acknowledgement())
          connection.flush(&stream)
          return .ended(how)
        }
      }
      if !isOpen { return .lost(isAnswered: isAnswered) }
    }
  }

  private mutating func answer(
    _ greeting: HostGreeting, in session: inout Session
  ) throws(Failure) {
    version = greeting.program
    switch greeting.answer {
    case .refused: throw failure.refused(greeting)
    case .unknown: throw failure.lost(hasPrinted: hasPrinted)
    case .begun where call.attempt > 1:
      if call.input == .all { stream.beginAgain() } else { stream = CallStream() }
      if plan.again == .alike { repeated = printed }
    case .begun, .continued: break
    }
    stream.connect(received: greeting.received)
    reconnection.succeed()
    wasAnswered = true
    signals.noteAnswer()
    if greeting.answer == .begun { trace = TerminalTrace() }
    session.output.restore(trace.redo)
    isTerminalChanged = true
    if call.input == .keys { mode?.setRaw(on: STDIN_FILENO) }
  }

  /// Takes a message; returns how the command ended, if it did.
  private mutating func take(
    _ message: HostMessage, in session: inout Session
  ) -> Ending? {
    stream.note(message)
    switch message {
    case .output(let all):
      let bytes = Bytes(all.dropFirst(repeated))
      repeated -= all.count - bytes.count
      printed += bytes.count
      hasPrinted = true
      if call.terminals[1] { trace.note(bytes) }
      session.output.result(bytes)
      session.output.emit()
      if session.output.readerIsGone, !hasReportedClosedOutput {
        hasReportedClosedOutput = true
        stream.send(.outputClosed)
      }
    case .errors(let bytes):
      hasPrinted = true
      session.output.message(bytes: bytes)
    case .ended(let how): return how
    case .call, .greeting, .acknowledged, .input, .inputEnd, .signal, .window, .outputClosed, .left:
      break
    }
    return nil
  }

  private mutating func readInput() throws(Failure) {
    if let bytes = try input?.readSome(HostMessage.piece) {
      if !bytes.isEmpty { stream.send(.input(bytes)) }
    } else {
      stream.send(.inputEnd)
      input = nil
    }
  }

  private mutating func takeSignals() {
    wakeUp.drain()
    let (new, isResized) = signals.take()
    if isResized {
      if call.input == .keys { mode?.setRaw(on: STDIN_FILENO) }
      if let terminal = call.terminals.firstIndex(of: true) {
        stream.send(.window(TerminalWindow(of: Int32(terminal))))
      }
    }
    for signal in new { stream.send(.signal(signal)) }
  }

  /// Restores the terminal; while the connection is lost, except for the echo: the command there may
  /// be asking for a password.
  private mutating func leaveTerminal(_ session: inout Session, isLost: Bool = false) {
    if isTerminalChanged { session.output.restore(trace.undo) }
    isTerminalChanged = false
    guard call.input == .keys, wasAnswered else { return }
    if isLost { mode?.setSilent(on: STDIN_FILENO) } else { mode?.restore(on: STDIN_FILENO) }
  }

  // MARK: The end of a connection

  /// Waits until it is time to connect again, or fails.
  private mutating func connectAgain(
    after ssh: SSH, isAnswered: Bool, in session: Session
  ) throws(Failure) {
    let ending = try ssh.finish()
    let cause = isAnswered ? nil : HostFailure.cause(ending, ssh.text)
    if let cause, call.attempt == 1 || !Self.maySucceed(cause), !wasAnswered,
      cause != .unreachable(isFinal: false)
    {
      let version = cause == .older ? try versionThere() : nil
      throw failure.unanswered(cause, line: ssh.lastLine, version: version)
    }
    let isFirst = reconnection.isFirst
    let time = reconnection.next(after: Clock.monotonic(), wasAnswered: wasAnswered)
    // An earlier connection may have delivered the call.
    guard let time, cause.map(Self.maySucceed) ?? true else {
      throw failure.lost(hasPrinted: hasPrinted, line: isAnswered ? nil : ssh.lastLine)
    }
    // `timeout` also ends ssh: then the connection is only for the signal, which may still come.
    _ = try waitForInput(on: [wakeUp.descriptor], timeoutMilliseconds: 100)
    if isFirst, !signals.isStopping {
      session.output.message(
        "serialq: host \(address.text): the connection was lost; connecting again")
    }
    // Another signal ends the process.
    _ = try waitForReadiness([], until: time)
  }

  /// Whether a machine that could not be reached may answer later.
  private static func maySucceed(_ cause: HostFailure.Cause) -> Bool {
    if case .unreachable = cause { true } else { false }
  }

  /// The version of a program that answers no calls.
  private func versionThere() throws(Failure) -> String? {
    let ssh = try SSH(address, Bytes("--version"), options: options)
    // Blocks until the end of the program there.
    let text = try ssh.output.readAll().text
    _ = try ssh.finish()
    let words = text.split { $0 == " " || $0 == "\n" }
    return words.first == "serialq"
      ? words.dropFirst().first.map { Visible.text(Bytes($0.utf8)) } : nil
  }

  private func end(_ how: Ending, in session: inout Session) throws(Failure) -> ExitCode {
    try session.output.flush()
    if case .killed(let signal) = how {
      if [SIGINT, SIGTERM, SIGHUP, SIGQUIT].contains(signal) { SignalListener.obey(signal) }
      session.output.message(
        "serialq: host \(address.text): the command was killed by \(SignalName.of(signal))")
    }
    if how.shellCode == .cannot, version != CommandTable.version {
      session.output.message(
        "serialq there is version \(version), and this is \(CommandTable.version)")
    }
    return how.shellCode
  }
}

extension Readiness {
  fileprivate var isReadable: Bool { canRead || isClosed }
}

extension Session {
  /// Carries out a command on another machine.
  mutating func call(
    _ address: HostAddress, _ plan: HostPlan, _ words: [Bytes]
  ) throws(Failure) -> ExitCode {
    let options = SSH.options(sharing: try connectionFolder())
    var caller = try HostCaller(address, plan, words, options: options)
    return try caller.run(in: &self)
  }
}
