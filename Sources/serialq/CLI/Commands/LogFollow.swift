import SerialqQueue
import SerialqRunner
import SerialqSystem
import SerialqWatch

extension Session {
  /// `serialq log -f`: prints until no more output can follow, or Ctrl-C.
  ///
  /// Without a job, follows all. Of each log that is there already, prints the last `lines`; with
  /// `isRaw`, prints the output of terminals unchanged. With all queues, reports those that cannot
  /// be followed, and follows the others.
  mutating func follow(
    _ job: (id: JobID, start: Follower.Start)? = nil, in queues: QueueSelection, lines: Int?,
    isRaw: Bool
  ) throws(Failure) -> ExitCode {
    let spool = try self.spool()
    var style = Follower.OutputStyle.plain
    style.isTalkative = job == nil && messageTraits.isTerminal
    style.sharesTerminal = traits.isTerminal
    style.hasColor = messageTraits.hasColor
    style.isOneOfSeveral = queues == .all
    (style.lines, style.isRaw) = (lines, isRaw)
    // One for all: they print on the same terminal.
    let restorer = TerminalRestorer()
    defer { restorer.restore(&output) }
    try interrupt(of: queues, restorer) { job == nil || job?.id == $0 }
    var followers = try WatchedQueues<Follower>(spool, queues, logs: true)
    var marks: [WaitMark?] = []
    defer { withExtendedLifetime(marks) {} }
    var last = ""
    var isFirstLook = true
    while true {
      try followers.update { (folder) throws(Failure) in
        if let job { return Follower(job.id, from: job.start, style, restorer) }
        return try Follower(folder, style, restorer)
      } checking: { (follower) throws(Failure) in
        let queue = try follower.latest()
        guard !follower.isAtEnd(in: queue) else { return }
        if let id = job?.id, queue.job(id)?.state == .waiting {
          confirm("serialq: waiting for job \(id) to start")
        }
        marks.append(try willWait("log -f", for: job?.id, queue, follower.folder))
        // The `add` that makes a queue meanwhile starts a runner next.
        if isFirstLook, !follower.isBlocked(in: queue), try !RunnerLock.isHeld(follower.folder) {
          reportMissingRunner(of: follower.folder.name)
        }
      } reading: { (follower) throws(Failure) in
        // Before an error is reported.
        defer { output.emit() }
        try follower.advance(&output, after: &last)
        if follower.isBlocked, !follower.isAtEnd {
          throw follower.queue.blocked(named: follower.folder.name)
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

  /// Reports that the jobs of a queue wait for a runner.
  func reportMissingRunner(of name: String) {
    output.message(
      """
      serialq: queue \(name) has no active runner; start one with: \
      \(advised("start", in: name))
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
