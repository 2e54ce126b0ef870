/// The shared state of the copies of a `then`.
///
/// Its `deinit` detects a dropped `then`.
final class Token: Sendable {
  let lock: Locked<SerialOrder>
  // Changes only in `reuse`, while a single reference exists. Others read it under the lock, or
  // before they release their reference.
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
    let result = lock.transition { $0.abandon(id: id) }
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

  /// Makes the next call a transition of its own, which continues the queue: when the handler has
  /// returned, and before a time limit, or a call in time would lose to a limit that passes before
  /// the handler returns.
  ///
  /// - Returns: Whether `then` was called before.
  @discardableResult
  func callUnderLock() -> Bool {
    let (_, found) = callState.compareExchange(
      expected: CallState.onStack, desired: CallState.afterHandler, ordering: .acquiringAndReleasing
    )
    return found == CallState.called
  }

  /// Whether `then` has been called so far.
  var isCalled: Bool { callState.load(ordering: .acquiring) == CallState.called }

  /// Records a call of `then`.
  ///
  /// - Parameter error: The error of a step that failed; nil if it succeeded.
  @inline(__always)
  func call(_ error: (any Error)?) {
    // The common case: success before the handler returns. The drain then checks the state, so no
    // lock is needed. The release makes this thread's writes visible to the next step.
    if error == nil,
      callState.compareExchange(
        expected: CallState.onStack, desired: CallState.called, ordering: .acquiringAndReleasing
      ).exchanged
    {
      return
    }
    callAfterHandler(error)
  }

  @inline(never)
  private func callAfterHandler(_ error: (any Error)?) {
    var next = SerialOrder.Turn()
    var token: Token?
    // Outside the lock, because `isCurrent` calls the runtime.
    var startsNext = !Task.isCurrent
    guard let manager = end(error, &startsNext, &next, &token) else { return }
    if startsNext {
      manager.continueTurn(&next, &token, .insideThen)
    } else {
      manager.continueTurn()
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
    var startsNext = false
    return end(
      error, isCancellation: isCancellation, reportsLate: reportsLate, &startsNext, &next, &token)
  }

  /// Ends the step, and may begin the next turn, which saves a use of the lock.
  ///
  /// - Parameters:
  ///   - error: The error of a step that failed; nil if it succeeded.
  ///   - isCancellation: Whether the step ends because its work was canceled.
  ///   - reportsLate: Whether a call after the end of the step is reported.
  ///   - startsNext: Whether the caller runs the next step, if the manager allows it; then whether
  ///     the next turn has begun.
  ///   - next: Receives the first move of that turn.
  ///   - token: Receives a token for its step, if one is kept.
  /// - Returns: The manager on whose behalf the caller holds the claim, if it does.
  @inline(never)
  private func end(
    _ error: (any Error)?, isCancellation: Bool = false, reportsLate: Bool = true,
    _ startsNext: inout Bool, _ next: inout SerialOrder.Turn, _ token: inout Token?
  ) -> (any StepRunner)? {
    var isFirst = false
    var kept: Token?
    let result = lock.transition { order -> SerialOrder.ThenResult in
      // Under the lock, so that the drain finds both the call and its error.
      isFirst =
        callState.exchange(CallState.called, ordering: .acquiringAndReleasing) != CallState.called
      guard isFirst else { return .late }
      // A cancellation is not a failure, whichever side requests it.
      if isCancellation { order.workCancelled(id) }
      let result = order.then(id: id, error: error)
      guard case .claimed(let manager) = result else { return result }
      // The next step begins under the same lock, unless something must happen in between.
      startsNext = startsNext && order.line.effects.isEmpty && manager?.runsOnThisThread == true
      if startsNext {
        next = order.next(.insideThen, on: ThreadIdentity())
        if case .run = next.move { token = order.spareToken.take() }
      }
      // For a later step: the caller still has a reference.
      kept = self
      order.spareToken.keep(&kept)
      return result
    }
    // After the lock, which the `deinit` of a token may take.
    kept = nil
    if case .late = result, reportsLate { reportLate(isFirst: isFirst) }
    guard case .claimed(let manager) = result else { return nil }
    return manager
  }

  private func reportLate(isFirst: Bool) {
    // Reads everything under the lock: after the last use of the token, the drain may reuse it.
    let (diagnostics, step) = lock.withLock { order in
      (order.diagnostics, StepIdentity(id: id, name: order.name(of: id)))
    }
    (diagnostics ?? .shared).report(isFirst ? .thenCalledLate(step) : .thenCalledAgain(step))
  }
}

/// A used token, reused by the next turn: a turn of a single step then allocates none.
struct SpareToken {
  private var token: Token?

  /// Takes the token, unless there are other references to it.
  mutating func take() -> Token? {
    // Otherwise the last use of another reference could see the next step.
    isOnlyReference(&token) ? token.take() : nil
  }

  /// Stores a token whose step has ended.
  ///
  /// The caller releases the previous one without the lock, which its `deinit` may take.
  mutating func keep(_ used: inout Token?) { swap(&token, &used) }
}
