/// The work of a promise as a step, done by that promise and those that it depends on.
///
/// Every promise that was started for a scope retains it until the promise is settled and its work
/// has ended. The step ends with the last reference.
final class WorkScope: @unchecked Sendable {
  // Sendable because `ending` is accessed only under one of the shared locks.
  let then: Then
  private var ending: StepOutcome?

  init(_ then: Then) {
    self.then = then
  }

  deinit {
    let manager: (any StepRunner)?
    switch SharedLocks.withLock(for: self, { ending }) {
    // The promise was released unsettled, so the step has dropped its `then`; or it would have
    // deadlocked, and `then` was called.
    case nil: return
    case .succeeded: manager = then.token.callLocked(nil)
    case .failed(let error): manager = then.token.callLocked(error)
    case .cancelled:
      // Late if a time limit or a grace period ended the step, which canceled the promise: not a
      // misuse.
      manager = then.token.callLocked(
        CancellationError(), isCancellation: true, reportsLate: false)
    }
    guard let manager else { return }
    // After the turn: if the next step ran inside it, that step could wait forever for its own
    // settlements and for the remaining handlers of this promise. On another thread if this one may
    // hold locks or runs a task. A reaction is not recognized by its identity here: a user's
    // handler could have the address of one that was released.
    if let turn = Trampoline.current, turn.runningReaction?.endsStep == true, turn.manager == nil,
      manager.runsOnThisThread
    {
      turn.manager = manager
    } else {
      manager.continueElsewhere()
    }
  }

  /// The manager in whose turn the work is done.
  var turn: Locked<SerialOrder> { then.token.lock }

  /// Stores the outcome of the promise.
  func settled(_ source: Core) {
    let isCancellation = source.withLock { $0.isCancellation }
    let ending: StepOutcome =
      switch source.settledOutcome {
      case .value: .succeeded
      case .failure where isCancellation: .cancelled
      case .failure(let error): .failed(error)
      }
    SharedLocks.withLock(for: self) { self.ending = ending }
  }
}
