import SerialqQueue
import SerialqRunner
import SerialqSystem
import SerialqWatch

/// The job to which a terminal is attached, as of the last read of the journal.
struct AttachedJob {
  let id: JobID
  let folder: QueueFolder
  private let detachKey: ControlKey
  private var reader: JournalReader
  private var isSuspended = false

  init(
    _ id: JobID, in folder: QueueFolder, leavingBy key: ControlKey
  ) throws(Failure) {
    self.id = id
    self.folder = folder
    detachKey = key
    reader = JournalReader(folder)
  }

  var queue: Queue { reader.queue }
  var queueName: String { folder.name.text }

  /// Reads the journal.
  mutating func read() throws(Failure) -> [DamagedLine] { try reader.read().damaged }

  /// Attaches the terminal by a connection to the keeper, until the job or the user ends that.
  ///
  /// Shows `greeting` when keys reach the job: what is typed before that could be lost, or be a signal.
  /// Calls `check` when one of `descriptors` is readable, which it resets: returns messages for the
  /// user, and why to leave now.
  mutating func attach(
    by socket: FileDescriptor, watching descriptors: [Int32], _ signals: TerminalSignals,
    greeting: String, check: () -> (messages: [String], end: Attachment.End?)
  ) throws(Failure) -> Attachment.End {
    isSuspended = false
    var greeting: String? = greeting
    var attachment = try Attachment(socket, leavingBy: detachKey)
    return try attachment.run(watching: descriptors) { () throws(Failure) in
      let (messages, end) = check()
      var news = Attachment.News()
      news.end = end
      news.messages = try (greeting.map { [$0] } ?? []) + messages + suspensions()
      greeting = nil
      news.stops = signals.takeStop()
      news.isContinued = signals.takeContinuation()
      return news
    }
  }

  /// What to show above the job's output.
  func greeting(columns: Int) -> String {
    let start = "serialq: attached to job \(id): "
    let end = "; \(detachKey.name) leaves it running"
    let room = max(20, columns - start.count - end.count)
    return start + (queue.job(id)?.title(columns: room) ?? "") + end
  }

  /// What to say if the job was suspended or continued since the last call.
  private mutating func suspensions() throws(Failure) -> [String] {
    try reader.read()
    guard let job = queue.job(id), (job.suspendedSince != nil) != isSuspended else { return [] }
    isSuspended.toggle()
    let option = QueueName.option(for: queueName)
    return [
      isSuspended
        ? "serialq: job \(id) is suspended; continue it: \(serialq) resume\(option)"
        : "serialq: job \(id) continues"
    ]
  }
}
