import SerialqQueue
import SerialqSystem

extension Session {
  /// `serialq serve-host`: answers the call that comes on standard input.
  func serveHost() throws(Failure) -> ExitCode {
    // The connection may end before the command.
    signal(SIGHUP, SIG_IGN)
    let output = FileDescriptor(
      owning: try retrying("fcntl", "writing") { fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) })
    var connection = try HostConnection(
      input: .standardInput(), output: output, of: SessionProcess())
    guard let call = try receiveCall(by: &connection) else { return .cannot }
    do throws(Failure) {
      let folder = try spool().makeFolder(.calls)
      try removeAbandonedSockets(in: folder)
      let path = folder.appending(path: call.key)
      // Also at the first attempt: a later one can have been faster.
      if let socket = try LocalSocket.connect(to: path) {
        var relay = HostRelay(socket, call, connection)
        try relay.run()
      } else if call.mayBegin {
        var server = try HostServer(call, connection, at: path)
        try server.run()
      } else {
        try answer(.unknown, by: connection)
      }
      return .success
    } catch {
      try answer(.begun, by: connection, failure: error)
      return error.code
    }
  }

  /// Removes the sockets of processes that were killed, if there are many.
  private func removeAbandonedSockets(in folder: Bytes) throws(Failure) {
    let names = try FileSystem.names(in: folder)
    guard names.count > 100 else { return }
    for name in names {
      let path = folder.appending(path: name)
      // A process that listens ignores a connection without a message.
      let listener = try LocalSocket.connect(to: path)
      if listener == nil { try FileSystem.remove(path) }
    }
  }

  /// Reads the first message; nil if it is not a call, which has been answered.
  private func receiveCall(by connection: inout HostConnection) throws(Failure) -> HostCall? {
    while true {
      _ = try waitForInput(on: [connection.input.raw], until: nil)
      let isOpen = connection.read()
      switch connection.next() {
      case .message(.call(let call)): return call
      case .incomplete where isOpen: continue
      case .incomplete: return nil
      case .message, .unknown:
        try answer(.refused, by: connection)
        return nil
      }
    }
  }

  /// Answers the call and ends it, with this failure if there is one.
  private func answer(
    _ answer: HostGreeting.Answer, by connection: HostConnection, failure: Failure? = nil
  ) throws(Failure) {
    var connection = connection
    var stream = CallStream()
    connection.send(.greeting(HostGreeting(answer: answer)))
    stream.connect(received: 0)
    if let failure {
      stream.send(.errors(Bytes("\(failure)\n".utf8)))
      stream.send(.ended(.exited(failure.code.rawValue)))
    }
    connection.flush(&stream)
  }
}

/// Passes a new connection of a caller on to the process that carries out its call.
private struct HostRelay {
  /// Each from one descriptor to another.
  private var directions: [Direction]
  private let connection: HostConnection

  private struct Direction {
    let source: FileDescriptor
    let target: FileDescriptor
    var pending: Bytes
    var isAtEnd = false
    /// Whether the target is closed.
    var isBroken = false
    var isDrained: Bool { isAtEnd && pending.isEmpty }
  }

  init(_ socket: FileDescriptor, _ call: HostCall, _ connection: HostConnection) {
    let first = HostMessage.opening + HostMessage.call(call).encoded + connection.unread
    self.connection = connection
    directions = [
      Direction(source: connection.input, target: socket, pending: first),
      Direction(source: socket, target: connection.output, pending: []),
    ]
  }

  /// Copies until either side closes.
  mutating func run() throws(Failure) {
    while true {
      var list: [(Int32, Interest)] = []
      for direction in directions {
        let reads = direction.pending.isEmpty
        list.append((direction.source.raw, reads ? .read : .none))
        list.append((direction.target.raw, reads ? .none : .write))
      }
      _ = try waitForReadiness(list, until: nil)
      for index in directions.indices { try copy(&directions[index]) }
      // The process has ended, or serves another connection.
      if directions[0].isBroken || directions[1].isDrained { return }
      if directions[1].isBroken || directions[0].isDrained { return try sayLeft() }
    }
  }

  private func copy(_ direction: inout Direction) throws(Failure) {
    if direction.pending.isEmpty, !direction.isAtEnd {
      if let bytes = try? direction.source.readSome(HostMessage.piece) {
        direction.pending = bytes
      } else {
        direction.isAtEnd = true
      }
    }
    guard !direction.pending.isEmpty else { return }
    guard let count = try? direction.target.writeSome(direction.pending) else {
      direction.isBroken = true
      return
    }
    direction.pending.removeFirst(count)
  }

  /// Reports that the caller is gone, unless its connection is lost.
  private func sayLeft() throws(Failure) {
    _ = try waitForReadiness([], until: Clock.monotonic() + HostConnection.tolerance)
    let patience = connection.patience
    guard patience < Reconnection.patience else { return }
    // Meanwhile the caller can return on another connection, which replaces this one.
    _ = try waitForReadiness([], until: Clock.monotonic() + patience)
    // It may have ended meanwhile.
    try? directions[0].target.writeAll(HostMessage.left.encoded)
  }
}
