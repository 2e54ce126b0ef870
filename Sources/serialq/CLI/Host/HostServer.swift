import SerialqQueue
import SerialqSystem

/// Carries out the call of another machine, also while that has lost its connection.
///
/// Waits at a socket for the caller to return, and then sends what it has missed. If it does not
/// return, hangs up the command, as if its terminal had closed.
struct HostServer {
  private let call: HostCall
  private let path: Bytes
  private let listener: LocalSocket
  private var connection: HostConnection?
  /// One that has not said yet which call it is for.
  private var candidate: HostConnection?
  private var attempt: Int
  private var stream = CallStream()
  private var command: HostedCommand?
  /// The input so far, if the command reads all of it.
  private var input: FileDescriptor?
  /// When the connection was lost, by the monotonic clock.
  private var lost: Int64?
  private var patience = Reconnection.patience
  /// When the caller closed what it sends.
  private var halfClosed: Int64?
  private var isAbandoned = false
  private var isEnded = false

  /// Listens at the path for the caller to return.
  init(_ call: HostCall, _ connection: HostConnection, at path: Bytes) throws(Failure) {
    self.call = call
    self.path = path
    attempt = call.attempt
    listener = try LocalSocket(listeningAt: path)
    self.connection = connection
    if call.input == .all {
      let file = path + Bytes(".input")
      input = try FileDescriptor.open(file, .new)
      try FileSystem.remove(file)
    }
    welcome(.begun, received: call.received)
  }

  /// Carries out the call; returns when the caller knows how it ended, or is gone.
  mutating func run() throws(Failure) {
    defer { try? FileSystem.remove(path) }
    do throws(Failure) {
      if call.input != .all { command = try HostedCommand(call, input: nil) }
    } catch {
      fail(error)
    }
    while !(isEnded && (stream.isSettled || isAbandoned)) {
      connection?.flush(&stream)
      try wait()
      do throws(Failure) {
        try step()
      } catch {
        command?.signal(SIGHUP)
        fail(error)
      }
    }
  }

  private mutating func step() throws(Failure) {
    let now = Clock.monotonic()
    if let found = try listener.accept() {
      candidate = try HostConnection(input: found, output: found)
    }
    try receiveCandidate()
    try receive(now)
    if let halfClosed, halfClosed + HostConnection.tolerance <= now {
      self.halfClosed = nil
      lose(now, patience: connection?.patience)
    }
    if let lost, lost + patience <= now { abandon() }
    try serveCommand()
  }

  // MARK: Waiting

  private func wait() throws(Failure) {
    var list: [(Int32, Interest)] = [(listener.descriptor.raw, .read)]
    if let candidate { list.append((candidate.input.raw, .read)) }
    if let connection {
      list.append((connection.input.raw, halfClosed == nil ? .read : .none))
      list.append((connection.output.raw, connection.outputInterest))
    }
    if let command, !isEnded {
      list += command.interests(readsOutput: isAbandoned || !stream.isFull)
    }
    let deadlines = [
      halfClosed.map { $0 + HostConnection.tolerance },
      isAbandoned ? nil : lost.map { $0 + patience },
    ]
    _ = try waitForReadiness(list, until: deadlines.compactMap(\.self).min())
  }

  // MARK: The caller

  private mutating func welcome(_ answer: HostGreeting.Answer, received: Int) {
    lost = nil
    halfClosed = nil
    connection?.send(.greeting(HostGreeting(answer: answer, received: stream.received)))
    stream.connect(received: received)
  }

  /// Replaces the connection by a later one of the same caller.
  private mutating func receiveCandidate() throws(Failure) {
    guard var found = candidate else { return }
    let isOpen = found.read()
    let next = found.next()
    candidate = found
    if next == .incomplete, isOpen { return }
    candidate = nil
    guard case .message(.call(let new)) = next, new.key == call.key, new.attempt > attempt,
      !isAbandoned
    else { return }
    attempt = new.attempt
    connection = found
    stream.disconnect()
    welcome(.continued, received: new.received)
    command?.setSize(new.window)
    // It draws again: what is shown there has changed.
    command?.signal(SIGWINCH)
    try receiveAll()
  }

  private mutating func receive(_ now: Int64) throws(Failure) {
    guard halfClosed == nil, connection != nil else { return }
    let isOpen = connection?.read() ?? false
    try receiveAll()
    if !isOpen, connection != nil { halfClosed = now }
  }

  private mutating func receiveAll() throws(Failure) {
    while let next = connection?.next(), next != .incomplete {
      guard case .message(let message) = next else { return lose(Clock.monotonic()) }
      stream.note(message)
      try take(message)
    }
  }

  private mutating func take(_ message: HostMessage) throws(Failure) {
    switch message {
    case .input(let bytes):
      if let input { try input.writeAll(bytes) } else { try command?.type(bytes) }
    case .inputEnd:
      guard let input, command == nil, !isEnded else { return }
      lseek(input.raw, 0, SEEK_SET)
      command = try HostedCommand(call, input: input)
    case .signal(let number):
      // Without a command the input is not complete: nothing has been done.
      if command == nil { return end(.killed(number)) }
      command?.signal(number)
    case .window(let window): command?.setSize(window)
    case .outputClosed: command?.closeOutput()
    case .left: abandon()
    case .call, .greeting, .acknowledged, .output, .errors, .ended: break
    }
  }

  private mutating func lose(_ now: Int64, patience: Int64? = nil) {
    self.patience = patience ?? Reconnection.patience
    connection = nil
    halfClosed = nil
    lost = now
    stream.disconnect()
  }

  /// Ends the command of a caller that does not return.
  private mutating func abandon() {
    guard !isAbandoned else { return }
    lose(Clock.monotonic())
    isAbandoned = true
    guard let command else { return end(.killed(SIGHUP)) }
    command.signal(SIGHUP)
  }

  // MARK: The command

  private mutating func serveCommand() throws(Failure) {
    guard let command, !isEnded else { return }
    try command.type([])
    var new: [HostMessage] = []
    let ending = try command.end { new.append($0) }
    if ending == nil, isAbandoned || !stream.isFull { _ = try command.read { new.append($0) } }
    // Without a caller nothing reads it, and the command must not wait for that.
    if !isAbandoned { for message in new { stream.send(message) } }
    if let ending { end(ending) }
  }

  private mutating func end(_ how: Ending) {
    isEnded = true
    stream.send(.ended(how))
  }

  /// Reports a failure of this process as that of the command.
  private mutating func fail(_ failure: Failure) {
    guard !isEnded else { return }
    stream.send(.errors(Bytes("\(failure)\n".utf8)))
    end(.exited(failure.code.rawValue))
  }
}
