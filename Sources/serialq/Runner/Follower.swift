import SerialqQueue
import SerialqSystem

/// Prints the output of a queue's jobs as it is written, in the order of the jobs.
///
/// Works with any runner: reads only the journal and the logs.
package struct Follower {
  package enum Subject: Equatable {
    case queue
    case job(JobID)
  }

  package struct OutputStyle {
    /// Whether starts and successful ends are reported too.
    var isTalkative = false
    /// Whether reports go to the same terminal as the output, so that lines must be completed
    /// first.
    var sharesTerminal = false
    /// Whether a live display is drawn below the output, which must then consist of complete lines.
    var isAboveDisplay = false

    package init(
      isTalkative: Bool = false, sharesTerminal: Bool = false, isAboveDisplay: Bool = false
    ) {
      self.isTalkative = isTalkative
      self.sharesTerminal = sharesTerminal
      self.isAboveDisplay = isAboveDisplay
    }
  }

  private let folder: QueueFolder
  private let style: OutputStyle
  private let watch: FileWatch
  private var reader: JournalReader
  private var state: FollowerState
  private var log: LogReader?
  /// The number of changes of the queue so far.
  package private(set) var changes = 0

  /// Starts following; attempts that have ended by now are not reported, unless of a single job.
  package init(_ folder: QueueFolder, _ subject: Subject, _ style: OutputStyle) throws(Failure) {
    self.folder = folder
    self.style = style
    reader = JournalReader(folder)
    watch = try FileWatch(folders: [folder.path, folder.logs])
    try reader.read()
    state = FollowerState(reader.queue, named: folder.name.text, subject, style)
  }

  package var queue: Queue { reader.queue }

  package var queueName: String { folder.name.text }

  /// Jobs that were reported as failed.
  package var failed: [JobID] { state.failed }
  package var succeeded: Int { state.succeeded }

  /// Whether no more output will follow, according to the journal.
  package var isAtEnd: Bool { state.isAtEnd(queue) }

  /// The incomplete last line of the running job, if only complete lines are printed.
  package mutating func openLine() throws(Failure) -> String? {
    try log?.openLine()
  }

  /// Waits until the queue or one of the descriptors may have changed.
  package func wait(
    orFor descriptors: [Int32] = [], timeoutMilliseconds: Int32? = nil
  ) throws(Failure) {
    _ = try waitForInput(
      on: [watch.descriptor] + descriptors, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Prints everything new since the last call.
  package mutating func advance(_ output: inout Output) throws(Failure) {
    watch.drain()
    var seen = FollowerState.Changes()
    let news = try reader.read { seen.note($0) }
    seen.isReset = news.reset
    if news.reset || news.applied > 0 { changes += 1 }
    for action in state.advance(seen, to: queue) { try perform(action, &output) }
  }

  private mutating func perform(
    _ action: FollowerState.Action, _ output: inout Output
  ) throws(Failure) {
    switch action {
    case .open(let id): log = LogReader(folder.log(id))
    case .printNew: try log?.print(to: &output, wholeLines: style.isAboveDisplay)
    case .printRest: try log?.print(to: &output)
    case .endLine:
      output.endLine()
      output.emit()
    case .close: log = nil
    case .message(let text): output.message(text)
    }
  }
}
