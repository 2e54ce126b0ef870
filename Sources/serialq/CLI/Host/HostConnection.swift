import SerialqSystem

/// The messages of one connection between a caller and the machine that carries out its call.
struct HostConnection {
  let input: FileDescriptor
  let output: FileDescriptor
  private var decoder = HostMessageDecoder()
  /// Bytes that the connection has not accepted yet.
  private var pending: Bytes
  /// Whether writing has failed; there may still be something to read.
  private var isBroken = false
  private let session: SessionProcess?

  /// Makes both descriptors non-blocking, and begins with what precedes the first message.
  init(
    input: FileDescriptor, output: FileDescriptor, of session: SessionProcess? = nil
  ) throws(Failure) {
    self.input = input
    self.output = output
    self.session = session
    pending = HostMessage.opening
    try input.setNonBlocking()
    try output.setNonBlocking()
  }

  /// Reads what is there; false at the end of the connection.
  mutating func read() -> Bool {
    guard let bytes = try? input.readSome(HostMessage.piece * 4) else { return false }
    decoder.append(bytes)
    return true
  }

  /// The next message that has been read.
  mutating func next() -> HostMessageDecoder.Next { decoder.next() }

  /// What has been read after the last message.
  var unread: Bytes { decoder.rest }

  /// Sends a message that is not numbered.
  mutating func send(_ message: HostMessage) { pending += message.encoded }

  /// Sends the bytes of a message.
  mutating func send(_ bytes: Bytes) { pending += bytes }

  /// Writes as much as the connection accepts.
  mutating func flush(_ stream: inout CallStream) {
    while !isBroken {
      while pending.count < HostMessage.piece, let bytes = stream.takeBytes() { pending += bytes }
      guard !pending.isEmpty else { return }
      guard let count = try? output.writeSome(pending) else {
        isBroken = true
        return
      }
      if count == 0 { return }
      pending.removeFirst(count)
    }
  }

  /// What to wait for on the descriptor for output.
  var outputInterest: Interest { pending.isEmpty || isBroken ? .none : .write }

  /// How long the other side may take to return after the connection has been at its end for
  /// ``tolerance``, in nanoseconds.
  ///
  /// A connection that is lost closes both directions, and ends the process that serves it. If that
  /// lives and only input has ended, the caller was killed. If output is closed too, either the
  /// caller was killed before that output, or only its ssh was.
  var patience: Int64 {
    let now = try? waitForReadiness([(output.raw, .write)], until: Clock.monotonic())
    if now.map({ !$0[0].isClosed }) ?? false { return 0 }
    return session?.isAlive == true ? Self.patienceForSSH : Reconnection.patience
  }

  private static let patienceForSSH: Int64 = 10_000_000_000

  /// How long the end of what is read and that of what is written can be apart if a connection is
  /// lost, in nanoseconds.
  static let tolerance: Int64 = 1_000_000_000
}

/// The process of `sshd(8)` that serves the connection of this process.
struct SessionProcess {
  private let identity: ProcessStatus.Identity

  /// Finds the nearest ancestor of this name; nil if it has ended, or if another program serves.
  init?() {
    var next = ProcessStatus.of(getppid())
    while let found = next, found.pid > 1 {
      if found.name.starts(with: Bytes("sshd")) {
        identity = found.identity
        return
      }
      next = ProcessStatus.of(found.parent)
    }
    return nil
  }

  var isAlive: Bool { ProcessStatus.of(identity.pid)?.identity == identity }
}
