import Synchronization

/// What the copies of a `then` share; the last to go tells the order.
final class Token: @unchecked Sendable {
  // Sendable because `id` changes only in `reuse`, while a single reference exists.
  let lock: Locked<SerialOrder>
  private(set) var id: Int
  private let stage = Atomic(Stage.onStack)

  /// Where the call of `then` is awaited: integers, because atomic enumerations are not inlined.
  private enum Stage {
    /// By the drain, which looks when the handler returns. → called, away
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
    guard stage.load(ordering: .acquiring) != Stage.called else { return }
    let id = id
    let result = lock.transition { order, consequences in
      order.abandon(id: id, &consequences)
    }
    // Elsewhere, because the thread that dropped `then` may hold locks of its own.
    if case .claimed(let manager?) = result { manager.continueElsewhere() }
  }

  /// Prepares the token for the next step; only when nobody else holds it.
  func reuse(for id: Int) {
    self.id = id
    stage.store(Stage.onStack, ordering: .relaxed)
  }

  /// The first handler has returned: from now on a call goes on with the queue itself.
  ///
  /// - Returns: Whether `then` was called before.
  func handlerReturned() -> Bool {
    let (_, found) = stage.compareExchange(
      expected: Stage.onStack, desired: Stage.afterHandler, ordering: .acquiringAndReleasing)
    return found == Stage.called
  }

  /// Has the order know of a call when it comes, and not when the handler returns.
  ///
  /// For a step with a time limit: or a call in time would be overruled by the limit if that ends
  /// while the handler is still on the stack.
  func callUnderLock() {
    _ = stage.compareExchange(
      expected: Stage.onStack, desired: Stage.afterHandler, ordering: .acquiringAndReleasing)
  }

  /// Whether `then` was called; only when nobody else holds the token any more.
  var wasCalled: Bool {
    // Asking whether a reference is unique does not acquire: without this, a call on another
    // thread could be seen later than the release of that thread's reference, and be missed.
    atomicMemoryFence(ordering: .acquiring)
    return stage.load(ordering: .acquiring) == Stage.called
  }

  /// `then` was called.
  ///
  /// - Parameters:
  ///   - error: Why the step failed; nil if it succeeded.
  ///   - reportsLate: Whether a call after the end of the step is reported.
  func call(_ error: (any Error)?, reportsLate: Bool = true) {
    // Most steps succeed before their handler returns. The drain looks at the stage then, so no
    // lock is needed; releasing makes what this thread wrote visible to the next step.
    if error == nil,
      stage.compareExchange(
        expected: Stage.onStack, desired: Stage.called, ordering: .acquiringAndReleasing
      ).exchanged
    {
      return
    }
    callLocked(error, reportsLate: reportsLate)?.continueTurn()
  }

  /// As `call`, but leaves it to the caller to go on with the queue.
  ///
  /// - Parameters:
  ///   - error: Why the step failed; nil if it succeeded.
  ///   - isCancellation: Whether it ends because its work was canceled.
  ///   - reportsLate: Whether a call after the end of the step is reported: not the end of work that
  ///     the library itself canceled when it ended the step.
  /// - Returns: The manager on whose behalf the caller holds the claim now, if it does.
  @inline(never)
  func callLocked(
    _ error: (any Error)?, isCancellation: Bool = false, reportsLate: Bool = true
  ) -> (any StepRunner)? {
    var isFirst = false
    let result = lock.transition { order, consequences -> SerialOrder.ThenResult in
      // Under the lock, so that the drain finds the error when it finds the call.
      isFirst = stage.exchange(Stage.called, ordering: .acquiringAndReleasing) != Stage.called
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
    // All under the lock: once this was the last use of the token, the drain may reuse it.
    let (diagnostics, step) = lock.withLock { order in
      (order.diagnostics, StepIdentity(id: id, name: order.name(of: id)))
    }
    (diagnostics ?? .shared).report(isFirst ? .thenCalledLate(step) : .thenCalledAgain(step))
  }
}
