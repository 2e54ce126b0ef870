import Synchronization

/// The shared state of the copies of a `then`.
///
/// Its `deinit` detects a dropped `then`.
final class Token: @unchecked Sendable {
  // Sendable because `id` changes only in `reuse`, while a single reference exists.
  let lock: Locked<SerialOrder>
  private(set) var id: Int
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
    self.id = id
  }

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
    self.id = id
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
    callLocked(error, reportsLate: reportsLate)?.continueTurn()
  }

  /// As `call`, but the caller continues the queue.
  ///
  /// - Parameters:
  ///   - error: The error of a step that failed; nil if it succeeded.
  ///   - isCancellation: Whether the step ends because its work was canceled.
  ///   - reportsLate: Whether a call after the end of the step is reported. False for work that the
  ///     library canceled when it ended the step.
  /// - Returns: The manager on whose behalf the caller holds the claim, if it does.
  @inline(never)
  func callLocked(
    _ error: (any Error)?, isCancellation: Bool = false, reportsLate: Bool = true
  ) -> (any StepRunner)? {
    var isFirst = false
    let result = lock.transition { order, consequences -> SerialOrder.ThenResult in
      // Under the lock, so that the drain finds both the call and its error.
      isFirst =
        callState.exchange(CallState.called, ordering: .acquiringAndReleasing) != CallState.called
      guard isFirst else { return .late }
      // A cancellation is not a failure, whichever side requests it.
      if isCancellation { order.workCancelled(id, &consequences) }
      return order.then(id: id, error: error, &consequences)
    }
    switch result {
    case .counted:
      return nil
    case .claimed(let manager):
      return manager
    case .late:
      if reportsLate { reportLate(isFirst: isFirst) }
      return nil
    }
  }

  private func reportLate(isFirst: Bool) {
    // Reads everything under the lock: after the last use of the token, the drain may reuse it.
    let (diagnostics, step) = lock.withLock { order in
      (order.diagnostics, StepIdentity(id: id, name: order.name(of: id)))
    }
    (diagnostics ?? .shared).report(isFirst ? .thenCalledLate(step) : .thenCalledAgain(step))
  }
}
