import SerialqQueue
import SerialqSystem

/// The user's terminal while it is attached to a running job.
///
/// Its keys go to the job, and the job's output to it, both by way of the ``Keeper``. Waits in one
/// place and blocks nowhere else: neither a terminal that accepts nothing nor a keeper that reads
/// nothing keeps the user from leaving.
package struct Attachment {
  /// Why the terminal is no longer attached.
  package enum End: Equatable, Sendable {
    /// The user pressed the detach key.
    case detached
    /// The keeper reported that the job's terminal is over.
    case over
    /// The job's terminal was over before anything was shown.
    case missed
    /// The keeper has gone without a report.
    case lost
    case signal(Int32)
    /// The user's terminal is closed.
    case inputClosed
  }

  private let id: JobID
  private var reader: JournalReader
  private var isSuspended = false
  private var greeting: String?
  private let socket: FileDescriptor
  private let input: FileDescriptor
  private let output: FileDescriptor
  private let mode: TerminalMode
  private var state: AttachState

  /// The most bytes that one call reads or writes.
  private static let piece = 1 << 16
  /// How long a terminal that accepts nothing can delay the end, in nanoseconds.
  private static let patience: Int64 = 1_000_000_000

  /// Attaches standard input and output to the job whose keeper is connected by `socket`.
  ///
  /// Shows `greeting` when keys reach the job: what is typed before that could be lost, or be a
  /// signal.
  package init(
    _ socket: FileDescriptor, to id: JobID, reading reader: JournalReader,
    leavingBy key: ControlKey,
    greeting: String
  ) throws(Failure) {
    guard let mode = TerminalMode(of: STDIN_FILENO) else {
      throw Failure(
        "standard input", "it is not a terminal",
        next: "Follow the output with: \(advised("log")) -f")
    }
    self.socket = socket
    self.id = id
    self.reader = reader
    self.mode = mode
    input = try .terminal(of: STDIN_FILENO)
    output = try .terminal(of: STDOUT_FILENO)
    state = AttachState(leavingBy: key)
    self.greeting = greeting
  }

  /// Connects to the keeper of a job's terminal; nil if none listens.
  package static func connect(
    to id: JobID, in folder: QueueFolder
  ) throws(Failure) -> FileDescriptor? {
    try LocalSocket.connect(to: folder.socket(id))
  }

  /// Stops in the background until `fg`, as reading the terminal would; otherwise the shell would
  /// lose it.
  package static func awaitForeground() throws(Failure) {
    if !TerminalWindow.isOurs(STDIN_FILENO) { SignalListener.obey(SIGTTIN) }
    guard !TerminalWindow.isOurs(STDIN_FILENO) else { return }
    throw Failure(
      "the terminal", "this process is in its background", next: "Attach in the foreground.")
  }

  /// Passes on keys and output until the end, and restores the terminal.
  ///
  /// Calls `check` first, and when one of `descriptors` is readable or at its end, which it resets:
  /// it returns messages for the user, and why to leave now. If the job is over, what its keeper
  /// has sent is shown first.
  package mutating func run(
    watching descriptors: [Int32], _ signals: TerminalSignals,
    check: () -> (messages: [String], end: End?)
  ) throws(Failure) -> End {
    try enter()
    defer { leave() }
    var isNews = true
    while true {
      if isNews, let end = try take(check(), signals) {
        guard end == .over else { return end }
        try showRest()
        return state.finish()
      }
      if let end = state.ending, state.isEnded { return end }
      let ready = try wait(descriptors)
      isNews = ready[3...].contains { $0.canRead || $0.isClosed }
      if ready[0].isReadable, let end = readKeys() {
        // The keys before the one that detaches.
        if !state.outgoing.isEmpty { try send() }
        return end
      }
      if ready[1].isReadable { try receive() }
      if ready[1].canWrite { try send() }
      if ready[2].canWrite || ready[2].isClosed, let end = show() { return end }
    }
  }

  // MARK: The loop

  /// Waits for the user's terminal, the keeper and the caller's descriptors, in this order; the
  /// terminal is listed twice.
  private func wait(_ descriptors: [Int32]) throws(Failure) -> [Readiness] {
    let sends = state.ending == nil && !state.outgoing.isEmpty
    let keeper: Interest =
      switch (state.readsOutput, sends) {
      case (true, true): .both
      case (true, false): .read
      case (false, true): .write
      case (false, false): .none
      }
    let own: [(Int32, Interest)] = [
      (input.raw, state.readsKeys ? .read : .none), (socket.raw, keeper),
      (output.raw, state.output.isEmpty ? .none : .write),
    ]
    return try waitForReadiness(own + descriptors.map { ($0, .read) }, until: nil)
  }

  private mutating func take(
    _ news: (messages: [String], end: End?), _ signals: TerminalSignals
  ) throws(Failure) -> End? {
    for message in try [greeting.take()].compactMap(\.self) + news.messages + suspensions() {
      state.say(message)
    }
    if let end = news.end { return end }
    let stops = signals.takeStop()
    if stops {
      leave()
      signals.stop()
    }
    // Another program may have used the terminal.
    if signals.takeContinuation() || stops { try enter() }
    state.resize(TerminalWindow(of: STDOUT_FILENO))
    return nil
  }

  /// What to say if the job was suspended or continued since the last call.
  private mutating func suspensions() throws(Failure) -> [String] {
    try reader.read()
    guard let job = reader.queue.job(id), (job.suspendedSince != nil) != isSuspended else {
      return []
    }
    isSuspended.toggle()
    let resume = advised("resume", in: reader.folder.name)
    return [
      isSuspended
        ? "serialq: job \(id) is suspended; continue it: \(resume)"
        : "serialq: job \(id) continues"
    ]
  }

  private mutating func readKeys() -> End? {
    do throws(Failure) {
      guard let keys = try input.readSome(Self.piece) else { return .inputClosed }
      return state.type(keys) ? .detached : nil
    } catch {
      return .inputClosed
    }
  }

  private mutating func receive() throws(Failure) {
    let bytes: Bytes?
    do throws(Failure) {
      bytes = try socket.readSome(Self.piece)
    } catch {
      bytes = nil
    }
    try state.receive(bytes)
  }

  private mutating func send() throws(Failure) {
    do throws(Failure) {
      state.note(sent: try socket.writeSome(state.outgoing.prefix(Self.piece)))
    } catch {
      // Otherwise the keeper would wait for what was lost, and this for an answer.
      guard error.number == EPIPE || error.number == ECONNRESET else { throw error }
      // What the keeper sent before its end is still to be read.
      state.note(sent: state.outgoing.count)
    }
  }

  private mutating func show() -> End? {
    do throws(Failure) {
      // A short piece: where the terminal cannot be opened again, a write may block.
      state.note(written: try output.writeSome(state.output.prefix(4096)))
      return nil
    } catch {
      return .inputClosed
    }
  }

  /// Shows what the keeper has sent, as far as the terminal accepts it soon.
  private mutating func showRest() throws(Failure) {
    let end = Clock.monotonic() + Self.patience
    var isRest = true
    while isRest {
      let now = Clock.monotonic()
      let ready = try waitForReadiness(
        [
          (socket.raw, state.readsOutput ? .read : .none),
          (output.raw, state.output.isEmpty ? .none : .write),
        ], until: state.output.isEmpty ? now : end)
      if ready[0].isReadable { try receive() }
      if ready[1].canWrite || ready[1].isClosed, show() != nil { return }
      isRest = now < end && ready.contains { $0.isReadable || $0.canWrite }
    }
  }

  // MARK: The mode of the terminal

  private mutating func enter() throws(Failure) {
    try Self.awaitForeground()
    mode.setRaw(on: input.raw)
    state.begin(TerminalWindow(of: STDOUT_FILENO))
  }

  private mutating func leave() {
    var undo = state.leave()[...]
    let end = Clock.monotonic() + Self.patience
    // The terminal may be closed, which needs no undo.
    while !undo.isEmpty, let count = try? output.writeSome(undo) {
      undo = undo.dropFirst(count)
      if undo.isEmpty || Clock.monotonic() >= end { break }
      _ = try? waitForReadiness([(output.raw, .write)], until: end)
    }
    mode.restore(on: input.raw)
  }
}

extension Readiness {
  fileprivate var isReadable: Bool { canRead || isClosed }
}
