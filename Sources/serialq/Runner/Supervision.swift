import SerialPromises
import SerialqQueue
import SerialqSystem

/// Wakes the runner while it waits: after a change of the queue, and for a stop.
final class Supervision: Sendable {
  private let watch: FileWatch
  private let stopped: WakeUpPipe
  private let adoption = Adoption()
  private let state = Locked(State())
  private let willWait: @Sendable () -> Void
  private let wasStopped: @Sendable () -> Void

  private struct State {
    var level = Termination.Stop.no
    var interruptsJob = true
    var isBlocked = false
    /// Not retained: their owner, whom they call, retains the runner.
    weak var signals: StopSignals?
  }

  /// Calls `willWait` before each wait, and `wasStopped` if the runner is blocked after a stop.
  init(
    _ folder: QueueFolder, willWait: @escaping @Sendable () -> Void,
    wasStopped: @escaping @Sendable () -> Void
  ) throws(Failure) {
    (self.willWait, self.wasStopped) = (willWait, wasStopped)
    watch = try FileWatch(folders: [folder.path])
    stopped = try WakeUpPipe()
  }

  /// Requests a stop, from any thread; the second request is immediate.
  func requestStop(_ level: Termination.Stop, cancelsJob: Bool = false) {
    state.withLock { state in
      if cancelsJob { state.interruptsJob = false }
      state.level = max(state.level, level)
    }
    stopped.wake()
  }

  var level: Termination.Stop { state.withLock { $0.level } }

  var isStopped: Bool { level != .no }

  /// Whether a job that ends because of a stop is interrupted, not cancelled.
  var interruptsJob: Bool { state.withLock { $0.interruptsJob } }

  /// Sets the signals that request a stop.
  func heed(_ signals: StopSignals) { state.withLock { $0.signals = signals } }

  /// Returns when every signal to stop that was sent before has been heard.
  func hearSignals() { state.withLock { $0.signals }?.catchUp() }

  /// Whether the runner waits for another process, possibly forever.
  var isBlocked: Bool { state.withLock { $0.isBlocked } }

  /// Waits for another process, possibly forever.
  func whileBlocked(_ wait: () throws(Failure) -> Void) throws(Failure) {
    state.withLock { $0.isBlocked = true }
    // A stop just before still saw that it is not blocked; its caller must check again.
    if isStopped { wasStopped() }
    defer { state.withLock { $0.isBlocked = false } }
    try wait()
  }

  /// Wakes the waiting thread, from any thread.
  func wake() { stopped.wake() }

  /// Waits until the queue may have changed, or until a deadline of the monotonic clock.
  @discardableResult
  func waitForChange(until due: Int64?, orFor others: Int32...) throws(Failure) -> [Bool] {
    willWait()
    let ready = try waitForInput(
      on: others + [adoption.descriptor, stopped.descriptor, watch.descriptor], until: due)
    // Not while the child that was waited for is left: it is the first to be found.
    if ready[others.count], !ready.prefix(others.count).contains(true) { reapAdopted() }
    return ready
  }

  /// Reaps what jobs left behind.
  func reapAdopted() {
    ChildProcess.started.withLock { own in adoption.reap { own.contains($0) } }
  }

  /// Consumes pending wake-ups; call it before reading the queue.
  func drain() {
    stopped.drain()
    watch.drain()
  }
}

extension RunnerSteps {
  /// The end for which a runner waits.
  enum Awaited {
    /// The end of a child of the runner.
    case child
    /// The end of all other processes that hold the lock of the job, after it was terminated.
    case rest
    /// The end of all processes in the group of a job whose runner died.
    case orphan
  }

  /// Waits for the end of a child and, if it was terminated, of all processes that hold the lock of
  /// its job; the caller reaps it.
  func supervise(
    _ child: ChildProcess, of job: Job? = nil, _ termination: inout Termination
  ) throws(Failure) -> Ending {
    // The child leads the group until it is reaped.
    var delivery = SignalDelivery(to: job, in: folder, adopts: true) { child.pid }
    let end = try patiently { () throws(Failure) in try Notice(ofEndOf: child) }
    try wait(for: .child, of: job, end, nil, &termination, &delivery)
    // Not reaped before its group is gone: otherwise a signal could reach a reused process group.
    if termination.cause != .itself, let job {
      let lock = try patiently { () throws(Failure) in try JobLock.existing(job.id, folder) }
      if let lock, try !lock.tryLock() {
        let free = try? Notice(ofRelease: lock)
        try wait(for: .rest, of: job, free, lock, &termination, &delivery)
      } else if let left = delivery.descendant() {
        try wait(for: .rest, of: job, Notice(ofEndOf: left), nil, &termination, &delivery)
      }
    }
    return try child.waitUntilEnded()
  }

  /// Waits until `ended` comes, or no remaining process can be signaled, and sends signals after a
  /// cancellation, a timeout or a stop of the runner.
  ///
  /// Does not poll: the end of the process, the journal, a stop or the next deadline wakes it. But
  /// while there can be no thread that waits for the end, tries `lock` each second: the processes
  /// that are to end may have used up all threads. Continues what a suspended job leaves behind:
  /// nothing else would.
  func wait(
    for awaited: Awaited, of job: Job?, _ ended: Notice?, _ lock: FileDescriptor?,
    _ termination: inout Termination, _ delivery: inout SignalDelivery
  ) throws(Failure) {
    // A foreground run that is stopped leaves an orphan to the next runner.
    let heedsStop = awaited != .orphan || kind == .background
    let canGiveUp = awaited != .child
    var ended = ended
    while true {
      // Drained before the check, so that a change during the check wakes the next wait.
      supervision.drain()
      let now = Clock.monotonic()
      let stop = heedsStop ? supervision.level : .no
      var requests = JobStatus.Running.unknown
      if let job {
        requests = try self.requests(
          for: job.id, isEnding: termination.cause != .itself || stop != .no)
      }
      let delay = termination.delay(now: now)
      for signal in termination.signals(requests, stop: stop, now: now) {
        delivery.begin(signal)
        _ = delivery.advance(now: now)
      }
      if let job, let delay, termination.cause == .timedOut {
        let age = Humanize.duration(.nanoseconds(delay))
        say(
          """
          serialq: job \(job.id): its time limit passed \(age) ago, while serialq did not run; it is \
          ended now
          """)
      }
      let isEnding = termination.cause != .itself
      if let job, awaited == .orphan, !isEnding, JobLock.isGone(job, folder) { break }
      let outlook = delivery.advance(now: now)
      if let job, !outlook.left.isEmpty { try report(outlook.left, of: job, isEnding: isEnding) }
      // Without a limit: a process that received SIGKILL may still wait for a disk.
      let isPatienceOver = outlook.isBlind && termination.isGivenUp(now: now)
      if canGiveUp, isEnding, !outlook.left.isEmpty || isPatienceOver { break }
      let due = termination.nextDue(canGiveUp: canGiveUp && outlook.isBlind)
      let look = ended == nil ? now + 1_000_000_000 : nil
      let next = [due, outlook.next, look].compactMap(\.self).min()
      var isOver = try supervision.waitForChange(until: next, orFor: ended?.descriptor ?? -1)[0]
      if ended == nil { isOver = try lock?.tryLock() ?? true }
      guard isOver else { continue }
      // Descendants of the job that have released its lock.
      guard canGiveUp, isEnding, let left = delivery.descendant() else { break }
      ended = Notice(ofEndOf: left)
    }
    if let job, termination.delay(now: Clock.monotonic()) != nil {
      say(
        "serialq: job \(job.id) ended, and its time limit passed, while serialq did not run"
      )
    }
    if termination.isSuspended {
      delivery.begin(SIGCONT)
      _ = delivery.advance(now: Clock.monotonic())
    }
  }
}
