import SerialqQueue
import SerialqRunner
import SerialqSystem
import SerialqWatch

extension Session {
  /// `serialq log -f`: prints until no more output can follow, or Ctrl-C.
  ///
  /// Of each log that is there already, prints the last `lines`; with `isRaw`, prints the output of
  /// terminals unchanged. With all queues, reports those that cannot be followed, and follows the
  /// others.
  mutating func follow(
    _ subject: Follower.Subject, in queues: QueueSelection, lines: Int?, isRaw: Bool
  ) throws(Failure) -> ExitCode {
    let spool = try self.spool()
    var style = Follower.OutputStyle.plain
    style.isTalkative = subject == .queue && messageTraits.isTerminal
    style.sharesTerminal = traits.isTerminal
    style.hasColor = messageTraits.hasColor
    style.isOneOfSeveral = queues == .all
    (style.lines, style.isRaw) = (lines, isRaw)
    // One for all: they print on the same terminal.
    let restorer = TerminalRestorer()
    defer { restorer.restore(&output) }
    try interrupt(of: queues, restorer) { subject == .queue || subject == .job($0) }
    var followers = try WatchedQueues<Follower>(spool, queues, logs: true)
    var marks: [WaitMark?] = []
    defer { withExtendedLifetime(marks) {} }
    var last = ""
    var isFirstLook = true
    while true {
      try followers.update { (folder) throws(Failure) in
        try Follower(folder, subject, style, restorer)
      } checking: { (follower) throws(Failure) in
        guard !follower.isAtEnd else { return }
        var job: JobID?
        if case .job(let id) = subject {
          job = id
          if follower.queue.job(id)?.state == .waiting {
            confirm("serialq: waiting for job \(id) to start")
          }
        }
        marks.append(try willWait("log -f", for: job, follower.queue, follower.folder))
        // The `add` that makes a queue meanwhile starts a runner next.
        if isFirstLook { try reportMissingRunner(of: follower) }
      } reading: { (follower) throws(Failure) in
        // Before an error is reported.
        defer { output.emit() }
        try follower.advance(&output, after: &last)
        if follower.isBlocked, !follower.isAtEnd {
          throw follower.queue.blocked(named: follower.queueName)
        }
      } reporting: { fault in
        output.message(fault.description)
      }
      isFirstLook = false
      try output.flush()
      if followers.readable.allSatisfy(\.isAtEnd) || output.readerIsGone { break }
      _ = try waitForInput(on: [followers.descriptor], until: nil)
    }
    return ExitCode.worst(of: followers.faults.values.map(\.code)) ?? .success
  }

  private func reportMissingRunner(of follower: Follower) throws(Failure) {
    if follower.isBlocked { return }
    if try !RunnerLock.isHeld(follower.folder) { reportMissingRunner(of: follower.queueName) }
  }

  /// Reports that the jobs of a queue wait for a runner.
  func reportMissingRunner(of name: String) {
    output.message(
      """
      serialq: queue \(name) has no active runner; start one with: \
      \(serialq) start\(QueueName.option(for: name))
      """)
  }
}

extension Follower: WatchedQueue {}

extension ExitCode {
  /// The code of several failed queues: an error of serialq itself counts most.
  static func worst(of codes: [ExitCode]) -> ExitCode? {
    codes.contains(.cannot) ? .cannot : codes.first
  }
}
