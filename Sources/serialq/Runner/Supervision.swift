import SerialPromises
import SerialqQueue
import SerialqSystem

/// Waits for the end of a job and sends it signals after a cancellation, a timeout or a stop of the
/// runner.
///
/// Does not poll: the end of the process, the journal, a stop or the next deadline wakes it.
final class Supervision: Sendable {
  private let watch: FileWatch
  private let stopped: WakeUpPipe
  private let stop = Locked(Termination.Stop.no)
  private let willWait: @Sendable () -> Void

  /// Calls `willWait` before each wait.
  init(_ folder: QueueFolder, willWait: @escaping @Sendable () -> Void) throws(Failure) {
    self.willWait = willWait
    watch = try FileWatch(folders: [folder.path])
    stopped = try WakeUpPipe()
  }

  /// Requests a stop, from any thread; the second request is immediate.
  func requestStop(_ level: Termination.Stop) {
    stop.withLock { $0 = max($0, level) }
    stopped.wake()
  }

  var level: Termination.Stop { stop.withLock { $0 } }

  var isStopped: Bool { level != .no }

  /// Waits until `ended` comes, `isGone` returns true, or, with `canGiveUp`, no remaining
  /// process can be signaled.
  ///
  /// With `heedsStop` a stop of the runner terminates the job. `requests` reads what was requested
  /// for the job. Calls `report` with the processes that cannot be ended or else suspended.
  ///
  /// Continues what a suspended job leaves behind: nothing else would.
  func wait(
    for ended: Notice, _ termination: inout Termination, _ delivery: inout SignalDelivery,
    heedsStop: Bool = true, canGiveUp: Bool = false, isGone: (EndCause) -> Bool = { _ in false },
    requests: (_ isEnding: Bool) throws(Failure) -> Termination.Requests,
    report: (_ left: [SignalRounds.Unreachable], _ isEnding: Bool) throws(Failure) -> Void
  ) throws(Failure) {
    try waitForEnd(
      ended, &termination, &delivery, heedsStop, canGiveUp, isGone, requests, report)
    if termination.isSuspended {
      delivery.begin(SIGCONT)
      _ = delivery.advance(now: Clock.monotonic())
    }
  }

  private func waitForEnd(
    _ ended: Notice, _ termination: inout Termination, _ delivery: inout SignalDelivery,
    _ heedsStop: Bool, _ canGiveUp: Bool, _ isGone: (EndCause) -> Bool,
    _ requests: (_ isEnding: Bool) throws(Failure) -> Termination.Requests,
    _ report: (_ left: [SignalRounds.Unreachable], _ isEnding: Bool) throws(Failure) -> Void
  ) throws(Failure) {
    while true {
      // Drained before the check, so that a change during the check wakes the next wait.
      drain()
      let now = Clock.monotonic()
      let stop = heedsStop ? level : .no
      for signal in termination.signals(
        try requests(termination.cause != .itself), stop: stop, now: now)
      {
        delivery.begin(signal)
        _ = delivery.advance(now: now)
      }
      if isGone(termination.cause) { return }
      let outlook = delivery.advance(now: now)
      let isEnding = termination.cause != .itself
      if !outlook.left.isEmpty { try report(outlook.left, isEnding) }
      // A process that received SIGKILL takes as long as it takes: it may wait for a disk.
      let isPatienceOver = outlook.isBlind && termination.isGivenUp(now: now)
      if canGiveUp, isEnding, !outlook.left.isEmpty || isPatienceOver { return }
      let due = termination.nextDue(canGiveUp: canGiveUp && outlook.isBlind)
      let next = [due, outlook.next].compactMap(\.self).min()
      if try waitForChange(until: next, orFor: ended.descriptor)[0] { return }
    }
  }

  /// Wakes the waiting thread, from any thread.
  func wake() { stopped.wake() }

  /// Waits until the queue may have changed, or until a deadline of the monotonic clock.
  @discardableResult
  func waitForChange(until due: Int64?, orFor others: Int32...) throws(Failure) -> [Bool] {
    willWait()
    return try waitForInput(on: others + [stopped.descriptor, watch.descriptor], until: due)
  }

  /// Consumes pending wake-ups; call it before reading the queue.
  func drain() {
    stopped.drain()
    watch.drain()
  }
}
