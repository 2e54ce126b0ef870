import SerialqQueue
import SerialqSystem

/// The process that holds the other end of a job's terminal while the job runs.
///
/// Copies the job's output to the log and to the attached terminals, and their keys to the job.
/// Lives on when the runner dies, so that the job does. Waits by `poll(2)` in one loop; only
/// reports to the journal have threads of their own.
package struct Keeper {
  private let terminal: ServedTerminal
  private var log: KeptLog
  /// Held as long as this process lives.
  private let lock: FileDescriptor
  private var socket: LocalSocket?
  /// The path of the socket, if this process made it.
  private let socketPath: Bytes?
  private let reports: KeeperReports
  private let over: WakeUpPipe
  private var clients: [Client] = []
  private var lastOrdinal = 0
  private var tail = OutputTail()
  private var detector = PromptDetector(now: Clock.monotonic())
  /// Typed, and not yet accepted by the terminal.
  private var keys = Bytes()
  private var reportsLoss = true

  private struct Client {
    let socket: FileDescriptor
    var viewer = Viewer()
    /// Counts the terminals in the order in which they were attached; nil before.
    var ordinal: Int?
    var isGone = false
  }

  /// The most keys that wait; more stay in the sockets.
  private static let mostKeys = 1 << 16
  /// The most output that is copied after the job has ended: a process that it left behind may
  /// print forever.
  private static let mostRest = 1 << 20
  /// How long the last output waits for attached terminals, in nanoseconds.
  private static let patience: Int64 = 300_000_000

  /// Takes over the descriptors that ``KeeperProcess`` passed on.
  package init(of id: JobID, in folder: QueueFolder) throws(Failure) {
    lock = FileDescriptor(owning: JobProcess.lockDescriptor, name: folder.keeperLock(id))
    terminal = try ServedTerminal(
      master: FileDescriptor(owning: STDIN_FILENO, name: Bytes("the terminal")))
    log = KeptLog(FileDescriptor(owning: STDOUT_FILENO, name: folder.log(id)))
    reports = KeeperReports(folder, id)
    over = try WakeUpPipe()
    let path = folder.socket(id)
    // The job must not fail because no terminal can be attached to it.
    do throws(Failure) {
      socket = try LocalSocket(listeningAt: path)
      socketPath = path
    } catch {
      (socket, socketPath) = (nil, nil)
      log.write(Bytes("serialq: attach is not possible: \(error.sentence)\r\n".utf8))
    }
    KeeperLock.sign(folder.keeperLock(id))
    try awaitEnd(try JobLock.existing(id, folder))
  }

  /// Wakes the loop when the runner reports the end of the job, or when no process of the job is
  /// left: its runner may have died.
  private func awaitEnd(_ job: FileDescriptor?) throws(Failure) {
    let over = over
    // The end of this process would be that of the job's terminal.
    func start(_ work: @escaping @Sendable () -> Void) throws(Failure) {
      try outlastingShortage { () throws(Failure) in try StartedThread(work) }.detach()
    }
    try start {
      // Blocked since this process was started, so that it is not lost.
      SignalListener.wait(for: [KeeperProcess.signal])
      over.wake()
    }
    // Removed by a cleaner of old files: this runner, or the next one, reports the end.
    guard let job else { return }
    try start {
      // An error ends nothing: the runner still reports the end.
      guard (try? job.lockShared()) != nil else { return }
      over.wake()
    }
  }

  /// Serves the terminal until the job is over.
  package mutating func run() throws(Failure) {
    while try !serve() {}
    try finish()
  }

  // MARK: The loop

  /// Waits for the next events and handles them; returns whether the job is over.
  private mutating func serve() throws(Failure) -> Bool {
    let now = Clock.monotonic()
    if let due = detector.due, due <= now, attached == 0 { look() }
    var list: [(Int32, Interest)] = [
      (over.descriptor, .read),
      (terminal.master.raw, keys.isEmpty ? .read : .both),
      (socket?.descriptor.raw ?? -1, .read),
    ]
    for client in clients {
      let reads = keys.count < Self.mostKeys
      let writes = client.viewer.hasOutput
      list.append(
        (
          client.socket.raw,
          reads && writes ? .both : reads ? .read : writes ? .write : .none
        ))
    }
    let ready = try waitForReadiness(list, until: attached == 0 ? detector.due : nil)
    // Only those that were waited for: a new one comes later.
    for (index, state) in ready.dropFirst(3).enumerated() {
      if state.canRead || state.isClosed { receive(from: index) }
    }
    if ready[1].canWrite { typeKeys() }
    if ready[1].canRead || ready[1].isClosed { _ = try copyOutput() }
    send()
    removeGone()
    if ready[2].canRead { accept() }
    return ready[0].canRead
  }

  private var attached: Int { clients.count { $0.ordinal != nil } }

  /// Copies what the job has printed; returns how much, nil at the end.
  private mutating func copyOutput() throws(Failure) -> Int? {
    guard let bytes = try terminal.read() else { return nil }
    guard !bytes.isEmpty else { return 0 }
    log.write(bytes)
    if reportsLoss, let reason = log.reason {
      reportsLoss = false
      reports.unlogged(reason)
    }
    tail.note(bytes)
    if detector.printed(bytes, at: Clock.monotonic()) { reports.asked(nil) }
    for index in clients.indices { clients[index].viewer.show(bytes) }
    return bytes.count
  }

  private mutating func look() {
    let look = PromptDetector.Look(
      hidesInput: terminal.hidesInput, isFullScreen: tail.isFullScreen)
    guard let question = detector.looked(look) else { return }
    reports.asked(question, runsHook: !detector.isRepeated)
  }

  private mutating func typeKeys() {
    guard !keys.isEmpty else { return }
    // A terminal that fails is reported by the next read.
    keys.removeFirst((try? terminal.master.writeSome(keys[...])) ?? keys.count)
  }

  // MARK: Attached terminals

  private mutating func accept() {
    do throws(Failure) {
      guard let client = try socket?.accept() else { return }
      clients.append(Client(socket: client))
    } catch {
      // The connection still waits, so that the loop would not wait again.
      socket = nil
      log.write(Bytes("serialq: attach is not possible: \(error.sentence)\r\n".utf8))
    }
  }

  private mutating func receive(from index: Int) {
    do throws(Failure) {
      guard let bytes = try clients[index].socket.readSome(AttachMessage.longest) else {
        clients[index].isGone = true
        return
      }
      for message in try clients[index].viewer.receive(bytes) { handle(message, from: index) }
    } catch {
      clients[index].isGone = true
    }
  }

  private mutating func handle(_ message: AttachMessage, from index: Int) {
    let isTyping = typing == index
    switch message {
    case .hello: attach(index)
    case .size: if isTyping { resize() }
    case .keys(let new):
      guard isTyping else { return }
      keys += new
      typeKeys()
      if detector.typed(at: Clock.monotonic()) { reports.asked(nil) }
    case .output, .typing, .over: break
    }
  }

  /// The attached terminal whose keys reach the job: the newest.
  private var typing: Int? {
    clients.indices.filter { clients[$0].ordinal != nil && !clients[$0].isGone }
      .max { (clients[$0].ordinal ?? 0) < (clients[$1].ordinal ?? 0) }
  }

  private mutating func attach(_ index: Int) {
    if let typing, typing != index { clients[typing].viewer.tell(.typing(false)) }
    lastOrdinal += 1
    clients[index].ordinal = lastOrdinal
    clients[index].viewer.tell(.typing(true))
    repaint(index)
    resize()
    noteAttached()
  }

  private mutating func repaint(_ index: Int) {
    guard let window = clients[index].viewer.window else { return }
    clients[index].viewer.paint(tail.repaint(window))
  }

  /// Gives the job's terminal the size of the attached terminal that types.
  private mutating func resize() {
    guard let typing, let window = clients[typing].viewer.window else { return }
    // A program draws again when the size changes; one that waits for an answer has no need to.
    if terminal.size == window, tail.isDrawn, !detector.isUnanswered {
      var smaller = window
      smaller.rows = max(1, window.rows - 1)
      terminal.setSize(smaller)
    }
    terminal.setSize(window)
  }

  private mutating func noteAttached() {
    // A question is visible on the attached terminal; otherwise the next check finds it again.
    if detector.restart(at: Clock.monotonic()) { reports.asked(nil) }
  }

  private mutating func send() {
    let tail = tail
    for index in clients.indices where clients[index].viewer.hasOutput && !clients[index].isGone {
      let window = clients[index].viewer.window
      let next = clients[index].viewer.next { window.map(tail.repaint) ?? [] }
      do throws(Failure) {
        clients[index].viewer.note(sent: try clients[index].socket.writeSome(next))
      } catch {
        clients[index].isGone = true
      }
    }
  }

  private mutating func removeGone() {
    guard clients.contains(where: \.isGone) else { return }
    let left = clients.filter { $0.isGone }.compactMap(\.ordinal)
    clients.removeAll { $0.isGone }
    guard let latest = left.max() else { return }
    if let typing, latest > clients[typing].ordinal ?? 0 {
      clients[typing].viewer.tell(.typing(true))
      // The output was for the size of the one that left.
      repaint(typing)
      resize()
    }
    noteAttached()
  }

  // MARK: The end

  /// Copies the last output, and closes everything.
  private mutating func finish() throws(Failure) {
    var rest = Self.mostRest
    while rest > 0, let count = try copyOutput(), count > 0 { rest -= count }
    for index in clients.indices {
      let window = clients[index].viewer.window
      clients[index].viewer.end { window.map(tail.repaint) ?? [] }
    }
    let end = Clock.monotonic() + Self.patience
    send()
    clients.removeAll { $0.isGone || !$0.viewer.hasOutput }
    while !clients.isEmpty, Clock.monotonic() < end {
      _ = try waitForReadiness(clients.map { ($0.socket.raw, .write) }, until: end)
      send()
      clients.removeAll { $0.isGone || !$0.viewer.hasOutput }
    }
    if let socketPath { try? FileSystem.remove(socketPath) }
    reports.finish()
  }
}
