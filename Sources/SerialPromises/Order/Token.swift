import Synchronization

/// The shared state of the copies of a `then`.
///
/// Its `deinit` detects a dropped `then`.
final class Token: Sendable {
  let lock: Locked<SerialOrder>
  // Changes only in `reuse`, while a single reference exists. Others read it under the lock, or before
  // they release their reference.
  private let step: Atomic<Int>
  private let callState = Atomic(CallState.onStack)

  /// The handling of a call of `then`.
  ///
  /// Integers, because atomic enumerations are not inlined.
  private enum CallState {
    /// The drain checks for the call when the handler returns. → called, afterHandler
    static let onStack: UInt8 = 0
    /// The call makes the transition and continues the queue. → called
    static let afterHandler: UInt8 = 1
    /// `then` was called.
    static let called: UInt8 = 2
  }

  init(lock: Locked<SerialOrder>, id: Int) {
    self.lock = lock
    step = Atomic(id)
  }

  var id: Int { step.load(ordering: .relaxed) }

  deinit {
    guard callState.load(ordering: .acquiring) != CallState.called else { return }
    let id = id
    let result = lock.transition { order, consequences in
      order.abandon(id: id, &consequences)
    }
    // On another thread, because the thread that dropped `then` may hold locks.
    if case .claimed(let manager?) = result { manager.continueElsewhere() }
  }

  /// Prepares the token for the next step.
  ///
  /// Requires the only reference.
  func reuse(for id: Int) {
    step.store(id, ordering: .relaxed)
    callState.store(CallState.onStack, ordering: .relaxed)
  }

  /// Ends the first handler: from now on a call continues the queue itself.
  ///
  /// - Returns: Whether `then` was called before.
  func handlerReturned() -> Bool {
    let (_, found) = callState.compareExchange(
      expected: CallState.onStack, desired: CallState.afterHandler, ordering: .acquiringAndReleasing
    )
    return found == CallState.called
  }

  /// Makes the next call a transition of its own, while the handler is still on the stack.
  ///
  /// Required for a step with a time limit: otherwise a call in time would lose to a limit that
  /// passes before the handler returns.
  func callUnderLock() {
    _ = callState.compareExchange(
      expected: CallState.onStack, desired: CallState.afterHandler, ordering: .acquiringAndReleasing
    )
  }

  /// Whether `then` was called.
  ///
  /// Requires the only reference.
  var wasCalled: Bool {
    // `isKnownUniquelyReferenced` has no acquire semantics: without the fence, a call on another
    // thread could be missed.
    atomicMemoryFence(ordering: .acquiring)
    return callState.load(ordering: .acquiring) == CallState.called
  }

  /// Records a call of `then`.
  ///
  /// - Parameters:
  ///   - error: The error of a step that failed; nil if it succeeded.
  ///   - reportsLate: Whether a call after the end of the step is reported.
  @inline(__always)
  func call(_ error: (any Error)?, reportsLate: Bool = true) {
    // The common case: success before the handler returns. The drain then checks the callState, so no
    // lock is needed. The release makes this thread's writes visible to the next step.
    if error == nil,
      callState.compareExchange(
        expected: CallState.onStack, desired: CallState.called, ordering: .acquiringAndReleasing
      ).exchanged
    {
      return
    }
    callAfterHandler(error, reportsLate: reportsLate)
  }

  @inline(never)
  private func callAfterHandler(_ error: (any Error)?, reportsLate: Bool) {
    var next = SerialOrder.Turn()
    var token: Token?
    // Outside the lock, because `isCurrent` calls the runtime.
    switch end(error, reportsLate: reportsLate, startsNext: !Task.isCurrent, &next, &token) {
    case .nothing: break
    case .claimed(let manager): manager?.continueTurn()
    case .began(let manager): manager.continueTurn(&next, &token)
    }
  }

  /// As `call`, but the caller continues the queue.
  ///
  /// - Parameters:
  ///   - error: The error of a step that failed; nil if it succeeded.
  ///   - isCancellation: Whether the step ends because its work was canceled.
  ///   - reportsLate: Whether a call after the end of the step is reported. False for work that the
  ///     library canceled when it ended the step.
  /// - Returns: The manager on whose behalf the caller holds the claim, if it does.
  func callLocked(
    _ error: (any Error)?, isCancellation: Bool = false, reportsLate: Bool = true
  ) -> (any StepRunner)? {
    var next = SerialOrder.Turn()
    var token: Token?
    let result = end(
      error, isCancellation: isCancellation, reportsLate: reportsLate, startsNext: false, &next,
      &token)
    guard case .claimed(let manager) = result else { return nil }
    return manager
  }

  /// What the caller of `end` has to continue.
  private enum Remainder {
    case nothing
    /// The caller holds the claim.
    case claimed((any StepRunner)?)
    /// As `claimed`, and the next turn has begun.
    case began(any StepRunner)
  }

  /// Ends the step, and may begin the next turn, which saves a use of the lock.
  ///
  /// - Parameters:
  ///   - error: The error of a step that failed; nil if it succeeded.
  ///   - isCancellation: Whether the step ends because its work was canceled.
  ///   - reportsLate: Whether a call after the end of the step is reported.
  ///   - startsNext: Whether the caller runs the next step, if the manager allows it.
  ///   - next: Receives the first move of the next turn, if it has begun.
  ///   - token: Receives a token for its step, if one is kept.
  /// - Returns: What remains to be done.
  @inline(never)
  private func end(
    _ error: (any Error)?, isCancellation: Bool = false, reportsLate: Bool, startsNext: Bool,
    _ next: inout SerialOrder.Turn, _ token: inout Token?
  ) -> Remainder {
    var isFirst = false
    var kept: Token?
    let remainder = lock.transition { order, consequences -> Remainder? in
      // Under the lock, so that the drain finds both the call and its error.
      isFirst =
        callState.exchange(CallState.called, ordering: .acquiringAndReleasing) != CallState.called
      guard isFirst else { return nil }
      // A cancellation is not a failure, whichever side requests it.
      if isCancellation { order.workCancelled(id, &consequences) }
      switch order.then(id: id, error: error, &consequences) {
      case .late: return nil
      case .counted: return .nothing
      case .claimed(let manager):
        var began = false
        // The next step begins under the same lock, unless something must happen in between.
        if startsNext, consequences == nil, manager?.runsOnThisThread == true {
          order.beginTurn(allowance: .max, on: ThreadIdentity())
          next = order.next(&consequences)
          if case .run = next.move { token = order.takeToken() }
          began = true
        }
        // For a later step: the caller still has a reference.
        kept = self
        order.keepToken(&kept)
        if began, let manager { return .began(manager) }
        return .claimed(manager)
      }
    }
    // After the lock, which the `deinit` of a token may take.
    kept = nil
    if let remainder { return remainder }
    if reportsLate { reportLate(isFirst: isFirst) }
    return .nothing
  }

  private func reportLate(isFirst: Bool) {
    // Reads everything under the lock: after the last use of the token, the drain may reuse it.
    let (diagnostics, step) = lock.withLock { order in
      (order.diagnostics, StepIdentity(id: id, name: order.name(of: id)))
    }
    (diagnostics ?? .shared).report(isFirst ? .thenCalledLate(step) : .thenCalledAgain(step))
  }
}
