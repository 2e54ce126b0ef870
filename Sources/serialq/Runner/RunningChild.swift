import Dispatch
import SerialPromises

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The process of the running job, as those see it who may have to end it.
///
/// - *none* → running (it was spawned)
/// - *running* → none (it was reaped)
///
/// A request to end it can come in either, from another thread. Signals are sent under the lock, so
/// never after the process was reaped, when its number could be somebody else's.
final class RunningChild: Sendable {
  /// How long a job may go on after SIGTERM before SIGKILL, in seconds.
  static let grace = 10

  private struct State {
    var child: ChildProcess?
    var signal: Int32?
  }

  private let state = Locked(State())

  /// Whether the job was told to end.
  var isToldToEnd: Bool { state.withLock { $0.signal != nil } }

  /// The job has been spawned; if it was told to end meanwhile, it is now.
  func spawned(_ child: ChildProcess) {
    state.withLock { state in
      state.child = child
      if let signal = state.signal { _ = try? child.signalGroup(signal) }
    }
  }

  /// Takes the exit status; from now on nothing is sent any more.
  func reap(_ child: ChildProcess) throws(Failure) -> ExitStatus {
    let result = state.withLock { state in
      state.child = nil
      return Result { () throws(Failure) in try child.reap() }
    }
    return try result.get()
  }

  /// Asks the job's process group to end, and kills it if it does not: SIGTERM, grace, SIGKILL.
  func end() {
    send(SIGTERM)
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(RunningChild.grace)) {
      self.kill()
    }
  }

  /// Kills the job's process group.
  func kill() {
    send(SIGKILL)
  }

  private func send(_ signal: Int32) {
    state.withLock { state in
      state.signal = signal
      _ = try? state.child?.signalGroup(signal)
    }
  }
}
