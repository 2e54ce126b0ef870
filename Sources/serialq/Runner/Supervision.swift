import Dispatch
import SerialPromises
import SerialqQueue
import SerialqSystem

/// Sleeps until a job has ended, and meanwhile sends it the signals that are due: because somebody
/// cancels it, its time is over, or its runner is to stop.
///
/// No polling: the end, the journal and a stop wake it, else the next deadline.
final class Supervision: Sendable {
  private let watch: FileWatch
  private let stopped: WakeUpPipe
  private let stop = Locked(Termination.Stop.no)

  init(_ folder: QueueFolder) throws(Failure) {
    (watch, stopped) = try attempt("watching \(folder.path.text)") { () throws(SystemError) in
      (try FileWatch(folders: [folder.path]), try WakeUpPipe())
    }
  }

  /// Tells the runner to stop, from any thread; the second time at once.
  func requestStop(_ level: Termination.Stop) {
    stop.withLock { $0 = max($0, level) }
    stopped.wake()
  }

  /// How the runner was told to stop, if it was.
  var level: Termination.Stop { stop.withLock { $0 } }

  var isStopped: Bool { level != .no }

  /// What becomes ready when something has ended, whose end a thread of its own waits for.
  func end(of wait: @escaping @Sendable () -> Void) throws(Failure) -> WakeUpPipe {
    let ended = try attempt("making a pipe") { () throws(SystemError) in try WakeUpPipe() }
    // A queue of its own has a thread at once: in the global one it would wait behind those that
    // block there for as long as a process that a cancelled job left behind lives.
    DispatchQueue(label: "serialq.end").async {
      wait()
      ended.wake()
    }
    return ended
  }

  /// Returns when the end has come, or nobody is left to be waited for (`isGone`); or, if it
  /// `canGiveUp`, when nothing more can be done about it.
  ///
  /// A stop of the runner is one of the job if it `heedsStop`; `requests` reads the signals that the
  /// job was asked to end with.
  func wait(
    for ended: WakeUpPipe, _ termination: inout Termination, heedsStop: Bool = true,
    canGiveUp: Bool = false, isGone: () -> Bool = { false },
    requests: () throws(Failure) -> [Int32], send: (Int32) -> Void
  ) throws(Failure) {
    while true {
      // Before looking, so that what comes while looking wakes again.
      stopped.drain()
      watch.drain()
      let now = Clock.monotonic()
      let stop = heedsStop ? level : .no
      for signal in termination.signals(requests: try requests(), stop: stop, now: now) {
        send(signal)
      }
      if isGone() || (canGiveUp && termination.isGivenUp(now: now)) { return }
      let due = termination.nextDue(canGiveUp: canGiveUp)
      let ready = try sleep(until: due, orFor: [ended.descriptor])
      if ready[0] { return }
    }
  }

  /// Sleeps until something may have changed in the queue, or the time has come, by the monotonic
  /// clock.
  func waitForChange(until due: Int64) throws(Failure) {
    _ = try sleep(until: due, orFor: [])
  }

  /// Forgets what woke it, before the queue is looked at.
  func drain() {
    stopped.drain()
    watch.drain()
  }

  private func sleep(until due: Int64?, orFor first: [Int32]) throws(Failure) -> [Bool] {
    // Rounded up, or it would wake a little too early, again and again.
    let left = due.map { max(0, ($0 - Clock.monotonic() + 999_999) / 1_000_000) }
    return try attempt("waiting") { () throws(SystemError) in
      try waitForInput(
        on: first + [stopped.descriptor, watch.descriptor],
        timeoutMilliseconds: left.map { Int32(clamping: $0) })
    }
  }
}
