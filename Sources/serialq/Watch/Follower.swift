import SerialqQueue
import SerialqSystem

/// Prints the output of a queue's jobs as it is written, in the order of the jobs.
///
/// Works with any runner: reads only the journal and the logs. The caller watches
/// ``QueueFolder/changing``, and calls ``advance(_:)`` after each change.
package struct Follower {
  package enum Subject: Equatable {
    case queue
    case job(JobID)
  }

  package struct OutputStyle {
    /// Whether starts and successful ends are reported too.
    package var isTalkative = false
    /// Whether reports go to the same terminal as the output, so that lines must be completed
    /// first.
    package var sharesTerminal = false
    /// Whether the reported failures have a color.
    package var hasColor = false
    /// Whether a live display is drawn below the output, which must then consist of complete lines.
    package var isAboveDisplay = false
    /// Whether other followers print too: then reports name the queue, and only complete lines are
    /// printed while a job runs.
    package var isOneOfSeveral = false
    /// How many of the last lines to print of a log that is there already; all if `nil`.
    package var lines: Int?
    /// Whether the output of a job with a terminal is printed unchanged also where the output is no
    /// terminal.
    package var isRaw = false

    package static let plain = OutputStyle()
  }

  /// From where jobs are followed one after another, each by a follower of its own: nothing of the
  /// later ones is lost meanwhile.
  package struct Start {
    fileprivate let unread: UnreadLogs
    fileprivate let reader: JournalReader

    package init(_ folder: QueueFolder, _ ids: [ClosedRange<JobID>]) throws(Failure) {
      // Before the journal is read: no log is removed unseen.
      unread = try UnreadLogs(retaining: ids, in: folder)
      var reader = JournalReader(folder)
      try reader.read()
      self.reader = reader
    }

    /// Removes what was kept, at the end.
    package func release() { unread.releaseAll() }
  }

  package let folder: QueueFolder
  private let style: OutputStyle
  private let subject: Subject
  /// Retains the logs that are not printed.
  private let unread: UnreadLogs
  private var reader: JournalReader
  private var state: FollowerState
  /// What the last read of the journal reported.
  private var seen = FollowerState.Changes()
  /// What is left to do about it, after a failure.
  private var pending: ArraySlice<FollowerState.Action> = []
  private var log: LogReader?
  /// The queue and the job of the open log.
  private var source = ""
  /// The attempt of the open log.
  private var open: AttemptID?
  /// The jobs whose output is printed only at their end, because their terminals are to be
  /// attached.
  package var heldBack: Set<JobID> = []
  /// Whether everything that is printed was there before following began.
  private var isFirstLook = true
  /// Restores the terminal after each job.
  package let restorer: TerminalRestorer
  /// Whether to print no more: what is there can take long to print.
  package var isStopped: @Sendable () -> Bool = { false }

  /// Starts following a queue; attempts that have ended by now are not reported.
  package init(
    _ folder: QueueFolder, _ style: OutputStyle, _ restorer: TerminalRestorer = TerminalRestorer()
  ) throws(Failure) {
    self.init(try Start(folder, [1...Int.max]), .queue, style, restorer)
    unread.releaseOver(in: reader.queue)
  }

  /// Starts following one of these jobs.
  package init(
    _ id: JobID, from start: Start, _ style: OutputStyle, _ restorer: TerminalRestorer
  ) {
    self.init(start, .job(id), style, restorer)
  }

  private init(
    _ start: Start, _ subject: Subject, _ style: OutputStyle, _ restorer: TerminalRestorer
  ) {
    folder = start.reader.folder
    self.style = style
    self.restorer = restorer
    self.subject = subject
    (unread, reader) = (start.unread, start.reader)
    state = FollowerState(reader.queue, named: folder.name, subject, style)
  }

  package var queue: Queue { reader.queue }

  /// The present state of the queue, whose changes are not reported yet.
  package func latest() throws(Failure) -> Queue {
    var reader = reader
    try reader.read()
    return reader.queue
  }

  /// See ``JournalReader/changes``.
  package var changes: Int { reader.changes }

  /// The job whose ``result`` is needed.
  package var chosen: JobID? {
    get { state.chosen }
    set { state.chosen = newValue }
  }
  /// How the chosen job ended; nil if its end was not reported.
  package var result: JobStatus? { state.result }
  /// The first job that was reported as failed.
  package var firstFailed: JobID? { state.firstFailed }
  /// The number of jobs whose ends were reported, by state; nil if it is not known.
  package var counts: [JobState?: Int] { state.counts }

  /// Whether no more output will follow, according to the journal.
  package var isAtEnd: Bool { isAtEnd(in: queue) }

  package func isAtEnd(in queue: Queue) -> Bool { state.isAtEnd(queue) }

  /// Whether no more output can follow until the queue is resumed.
  package var isBlocked: Bool { isBlocked(in: queue) }

  package func isBlocked(in queue: Queue) -> Bool { state.isBlocked(queue) }

  /// The incomplete last line of the running job, if only complete lines are printed.
  package mutating func openLine() throws(Failure) -> String? {
    try log?.openLine()
  }

  /// Prints everything new since the last call.
  package mutating func advance(_ output: inout Output) throws(Failure) {
    var last = ""
    try advance(&output, after: &last)
  }

  /// Prints everything new since the last call, after what any of several followers printed last:
  /// the queue and the job, or nothing yet.
  package mutating func advance(
    _ output: inout Output, after last: inout String
  ) throws(Failure) {
    if !pending.isEmpty { try performPending(&output, &last) }
    var hasNews: Bool
    repeat {
      let known = isFirstLook ? -1 : changes
      try look(&output, &last)
      hasNews = changes != known
      // Again at the end: printing can block for long, and meanwhile jobs can have been queued, or
      // the queue resumed.
    } while hasNews && (isAtEnd || isBlocked)
  }

  private mutating func look(_ output: inout Output, _ last: inout String) throws(Failure) {
    var seen = FollowerState.Changes()
    seen.replaced = try reader.readWithReports { entry, before, queue in
      seen.note(entry, before, queue)
    }.replaced
    self.seen = seen
    for id in seen.requeued where subject == .queue || subject == .job(id) {
      unread.retain(id...id)
    }
    pending = state.advance(seen, to: queue)[...]
    try performPending(&output, &last)
    guard subject == .queue, seen.replaced != nil else { return }
    // Also of the jobs that are not in the journal any more.
    unread.releaseOver(in: queue)
  }

  /// Does what is to be done; what fails, such as opening a log without a descriptor, is done again
  /// at the next call.
  private mutating func performPending(
    _ output: inout Output, _ last: inout String
  ) throws(Failure) {
    while let action = pending.first {
      try perform(action, &output, &last)
      pending.removeFirst()
    }
    isFirstLook = false
  }

  private mutating func perform(
    _ action: FollowerState.Action, _ output: inout Output, _ last: inout String
  ) throws(Failure) {
    switch action {
    case .printNew where open.map { heldBack.contains($0.id) } == true: break
    case .open(let attempt):
      try reportLost(&output)
      open = attempt
      log = reader(of: attempt)
      source = "queue \(folder.name), job \(attempt.id)"
      if isFirstLook, let lines = style.lines { try log?.skip(toLast: lines) }
    case .printNew:
      try print(isLast: false, &output, &last)
    case .printRest:
      try print(isLast: true, &output, &last)
      restorer.restore(&output)
    case .endLine:
      output.endLine()
      output.emit()
    case .close(let attempt):
      try reportLost(&output)
      log = nil
      let settings = queue.settings
      let isReplaced = attempt.number > 1 || settings.keep != nil || settings.logLimit != nil
      unread.release(attempt.id, attempt: isReplaced ? attempt.number : nil)
    case .message(let text):
      output.message(text)
      last = source
    }
  }

  /// Names the job of the open log if there was no such file.
  private mutating func reportLost(_ output: inout Output) throws(Failure) {
    if let open, try log?.isThere == false { output.message(state.lost(open.id)) }
  }

  /// Leaves out the output so far of the job that is followed: its terminal has shown it.
  package mutating func skipOutput() throws(Failure) { try log?.skipAll() }

  private func reader(of attempt: AttemptID) -> LogReader {
    let job = seen.job(attempt) ?? queue.job(attempt.id)
    let hasTerminal = job?.hadTerminal == true
    // On a terminal the output has the effect that it had on the job's own.
    let isText = hasTerminal && !restorer.isTerminal && !style.isRaw
    return LogReader(
      folder.log(attempt.id), restorer, hasTerminal: hasTerminal,
      text: isText ? TerminalText(keepsStyle: false) : nil
    ) { [folder] () throws(Failure) in
      try job.flatMap { (job) throws(Failure) in try folder.openKeptLog(of: job) }
    }
  }

  /// Prints the new part of the open log, below a heading if another follower printed last.
  private mutating func print(
    isLast: Bool, _ output: inout Output, _ last: inout String
  ) throws(Failure) {
    let wholeLines = !isLast && (style.isAboveDisplay || style.isOneOfSeveral)
    let source = style.isOneOfSeveral && style.isTalkative ? source : last
    try log?.print(
      to: &output, wholeLines: wholeLines, isLast: isLast, isStopped: isStopped
    ) { output in
      guard last != source else { return }
      output.message("==> \(source) <==")
      last = source
    }
  }
}
