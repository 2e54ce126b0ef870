import Dispatch
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

  init(_ folder: QueueFolder) throws(Failure) {
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

  /// Runs a blocking `wait` on another thread; returns a pipe that becomes readable when it
  /// returns.
  func end(of wait: @escaping @Sendable () -> Void) throws(Failure) -> WakeUpPipe {
    let ended = try WakeUpPipe()
    // A separate queue gets a thread at once. The global queue could be full of threads that block
    // on processes left behind by cancelled jobs.
    DispatchQueue(label: "serialq.end").async {
      wait()
      ended.wake()
    }
    return ended
  }

  /// Waits until `ended` is signalled, `isGone` returns true, or, with `canGiveUp`, all signals
  /// have failed.
  ///
  /// With `heedsStop` a stop of the runner terminates the job. `requests` reads the termination
  /// signals requested for the job.
  func wait(
    for ended: WakeUpPipe, _ termination: inout Termination, heedsStop: Bool = true,
    canGiveUp: Bool = false, isGone: () -> Bool = { false },
    requests: () throws(Failure) -> [Int32], send: (Int32) -> Void
  ) throws(Failure) {
    while true {
      // Drained before the check, so that a change during the check wakes the next wait.
      drain()
      let now = Clock.monotonic()
      let stop = heedsStop ? level : .no
      for signal in termination.signals(requests: try requests(), stop: stop, now: now) {
        send(signal)
      }
      if isGone() || (canGiveUp && termination.isGivenUp(now: now)) { return }
      let due = termination.nextDue(canGiveUp: canGiveUp)
      if try waitForChange(until: due, orFor: ended.descriptor)[0] { return }
    }
  }

  /// Waits until the queue may have changed, or until a deadline of the monotonic clock.
  @discardableResult
  func waitForChange(until due: Int64?, orFor others: Int32...) throws(Failure) -> [Bool] {
    try waitForInput(on: others + [stopped.descriptor, watch.descriptor], until: due)
  }

  /// Consumes pending wake-ups; call it before reading the queue.
  func drain() {
    stopped.drain()
    watch.drain()
  }
}
