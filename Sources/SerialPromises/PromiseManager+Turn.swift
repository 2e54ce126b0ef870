extension PromiseManager {
  /// Runs a closure exclusively, in the caller's task and on its actor.
  ///
  /// An actor lets another call enter whenever the current one awaits. In a turn, no other turn or
  /// step of the manager runs until `body` has returned or thrown; see <doc:Reentrancy>.
  ///
  /// ```swift
  /// actor Pages {
  ///   private let turns = PromiseManager()
  ///   private var page: String?
  ///
  ///   func load() async throws -> String {
  ///     try await turns.withTurn {
  ///       // No other `load` is in here, however often this one awaits.
  ///       if let page { return page }
  ///       let new = try await fetch()
  ///       page = new
  ///       return new
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// The turn is a step among the others, with a place, a name, events, and the manager's capacity,
  /// rate and failure policy. If the manager is idle, `body` begins without suspending.
  ///
  /// If a task with a higher priority waits behind it, the turn's task has that priority until the
  /// end of the turn, at least; see <doc:LifeOfAStep#Priorities>.
  ///
  /// A turn that waited counts as running when its task is resumed, even if its actor is busy: no
  /// other step overtakes it. If it is canceled or times out before `body` begins there, `body`
  /// never begins.
  ///
  /// **Only the end of `body` ends the turn.** Its code may hold state that the next turn relies
  /// on. Therefore neither `cancelAll`, with or without a grace period, nor a time limit ends a
  /// turn or cancels its task: cancel the task itself. If the manager has a time limit, a turn that
  /// exceeds it is reported as ``Diagnostic/timedOut(_:)``, and the call throws when `body` has
  /// ended.
  ///
  /// The code of a turn can report the progress of the step, with ``reportProgress(_:)``.
  ///
  /// A turn that throws after its task was canceled is a canceled step, whatever the error.
  ///
  /// With `waitingAtMost`, a caller gives up if its turn has not begun in time, as measured by the
  /// manager's clock: its step is canceled, and the order of the others does not change. A turn
  /// that has been granted is not withdrawn, and an idle manager whose rate allows it grants it
  /// even if that time is zero, except while the thread that has ended a step looks for the next
  /// one. If the clock throws, the time has passed.
  ///
  /// For work that must be cancelable apart from its caller, use ``run(_:at:waitingAtMost:_:)``.
  ///
  /// - Parameters:
  ///   - name: The name in events, errors and diagnostics.
  ///   - place: The place in the queue.
  ///   - waitingAtMost: The maximum time to wait for the turn; nil means no limit.
  ///     ``withTurnIfAvailable(_:_:)`` does not wait at all.
  ///   - body: The work that must not overlap with another turn or step. It can use values that are
  ///     not `Sendable`.
  /// - Returns: The value of `body`.
  /// - Throws: The error of `body`; `CancellationError` if the task was canceled, or the step by
  ///   the manager, before `body` began; ``PromiseError/timedOut(_:)`` if it exceeded the manager's
  ///   time limit, whatever `body` threw; ``PromiseError/stillWaiting(_:for:)`` if its turn had not
  ///   begun in time; ``PromiseError/closed`` or ``PromiseError/full(capacity:)`` if it was
  ///   refused; ``PromiseError/deadlock(_:)`` if called in a running step of this manager, which
  ///   would deadlock.
  @inlinable
  nonisolated(nonsending) public func withTurn<Value, Failure: Error>(
    _ name: String? = nil, at place: StepPlace = .last, waitingAtMost: Duration? = nil,
    _ body: nonisolated(nonsending) () async throws(Failure) -> Value
  ) async throws -> Value {
    let turn =
      if let free = try takeTurn(name) {
        free
      } else {
        try await takeTurn(name, at: place, waitingAtMost: waitingAtMost)
      }
    return try await hold(turn, body)
  }

  /// Runs an existing function exclusively, in the caller's task and on its actor.
  ///
  /// Behaves as ``withTurn(_:at:waitingAtMost:_:)``, at the end of the queue.
  ///
  /// ```swift
  /// let user = try await manager.withTurn(fetchUser)
  /// ```
  ///
  /// - Parameter body: The function. It must not overlap with another turn or step.
  /// - Returns: The value of `body`.
  /// - Throws: The errors of ``withTurn(_:at:waitingAtMost:_:)``.
  @_disfavoredOverload
  nonisolated(nonsending) public func withTurn<Value, Failure: Error>(
    _ body: nonisolated(nonsending) () async throws(Failure) -> Value
  ) async throws -> Value {
    try await withTurn(nil, body)
  }

  /// Runs a closure exclusively, as ``withTurn(_:at:waitingAtMost:_:)`` does, if it can begin at
  /// once.
  ///
  /// It can if no step runs or waits, the manager is not paused, and its rate allows it: it
  /// overtakes no step. While the thread that has ended a step looks for the next one, it returns
  /// nil, even if `idle()` has returned.
  ///
  /// ```swift
  /// let isSaved = try await manager.withTurnIfAvailable { try await save(draft) } != nil
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name in events, errors and diagnostics.
  ///   - body: The work that must not overlap with another turn or step.
  /// - Returns: The value of `body`; nil if it was not called, also in a running step of this
  ///   manager.
  /// - Throws: The error of `body`; `CancellationError` if the task was canceled before, or
  ///   ``PromiseError/closed`` if the manager was closed, also if the turn was not available; and
  ///   ``PromiseError/timedOut(_:)`` if `body` exceeded the manager's time limit, whatever it
  ///   threw.
  @inlinable
  nonisolated(nonsending) public func withTurnIfAvailable<Value, Failure: Error>(
    _ name: String? = nil, _ body: nonisolated(nonsending) () async throws(Failure) -> Value
  ) async throws -> Value? {
    guard let turn = try takeTurnIfAvailable(name) else { return nil }
    return try await hold(turn, body)
  }

  /// Runs an existing function exclusively, if it can begin at once.
  ///
  /// Behaves as ``withTurnIfAvailable(_:_:)``.
  ///
  /// ```swift
  /// let user = try await manager.withTurnIfAvailable(fetchUser)
  /// ```
  ///
  /// - Parameter body: The function. It must not overlap with another turn or step.
  /// - Returns: The value of `body`; nil if it was not called.
  /// - Throws: The errors of ``withTurnIfAvailable(_:_:)``.
  @_disfavoredOverload
  nonisolated(nonsending) public func withTurnIfAvailable<Value, Failure: Error>(
    _ body: nonisolated(nonsending) () async throws(Failure) -> Value
  ) async throws -> Value? {
    try await withTurnIfAvailable(nil, body)
  }

  // Inlined into the caller, whose types it then has: half the time of a turn without contention.
  @inlinable
  func hold<Value, Failure: Error>(
    _ turn: borrowing TakenTurn, isolation: isolated (any Actor)? = #isolation,
    _ body: nonisolated(nonsending) () async throws(Failure) -> Value
  ) async throws -> Value {
    let value: Value
    do {
      value = try await marks.withValue(mark(turn)) {
        // Captured, so that this closure has its isolation, and the executor does not change twice.
        _ = isolation
        return try await body()
      }
    } catch {
      throw await end(turn, error) ?? error
    }
    if !endAtOnce(turn), let error = await end(turn, nil) { throw error }
    return value
  }

  /// Takes the turn of an idle manager.
  @usableFromInline
  func takeTurn(_ name: String?) throws -> TakenTurn? {
    // Looked up once, for its cancellation too.
    var task = UnownedTask.current
    if task?.isCancelled == true { throw CancellationError() }
    guard name == nil, limit == nil else { return nil }
    guard let id = order.transition({ $0.grantAtOnce(order, to: task) }) else { return nil }
    return TakenTurn(id: id, caller: nil)
  }

  /// Takes the turn if it begins at once.
  @usableFromInline
  func takeTurnIfAvailable(_ name: String?) throws -> TakenTurn? {
    if let free = try takeTurn(name) { return free }
    let caller = Caller(order, name: name)
    // Before the lock: the clock may be a user's.
    let time = elapsed
    guard try caller.enter(self, now: time, if: { $0.isAvailable(at: time) }) else { return nil }
    return TakenTurn(id: caller.id, caller: caller)
  }

  /// Waits for a turn.
  @usableFromInline
  nonisolated(nonsending) func takeTurn(
    _ name: String?, at place: StepPlace, waitingAtMost: Duration?
  ) async throws -> TakenTurn {
    if let step = RunningStep.deadlockedStep(order) { throw PromiseError.deadlock(step) }
    let caller = Caller(order, name: name)
    if try !caller.enter(self, at: place) {
      let timer = limit(caller, waitingAtMost: waitingAtMost)
      defer { timer?.cancel() }
      let hasTurn = await suspended {
        caller.wait($0, at: Task.currentPriority.rawValue)
      } onCancel: {
        caller.cancel()
      } onEscalation: {
        caller.escalate(to: $0)
      }
      guard hasTurn, caller.begin() else {
        let isUsed = caller.leaveTask()
        // Unless it was canceled: a turn that has timed out on the way has not ended.
        order.endTurn(caller.id, CancellationError())
        if isUsed { await caller.othersToLeave() }
        throw order.withLock({ _ in caller.gaveUp }) ?? timeout(of: caller) ?? CancellationError()
      }
    }
    return TakenTurn(id: caller.id, caller: caller)
  }

  /// The mark of a turn, made for the task-local value: a copy would take a retain and a release.
  @usableFromInline
  func mark(_ turn: borrowing TakenTurn) -> RunningStep.Mark {
    RunningStep.Mark(
      RunningStep(lock: order, id: turn.id, outer: RunningStep.running(marks.get().step)))
  }

  /// Ends the turn of code that succeeded, if nothing follows.
  @usableFromInline
  func endAtOnce(_ turn: borrowing TakenTurn) -> Bool {
    turn.caller == nil && order.withLock { $0.endGranted(turn.id) }
  }

  /// The error of a step that has timed out.
  private func timeout(of caller: Caller) -> (any Error)? {
    guard limit != nil, case .failed(let error) = order.withLock({ _ in caller.outcome })
    else { return nil }
    return error
  }

  /// - Returns: The error of a step that has timed out.
  @usableFromInline
  nonisolated(nonsending) func end(
    _ turn: borrowing TakenTurn, _ error: (any Error)?
  ) async -> (any Error)? {
    let isCancellation = error != nil && Task.isCancelled
    let caller = turn.caller ?? order.withLock { $0.leaveAtOnce(turn.id) }
    let isUsed = caller?.leaveTask() == true
    order.endTurn(turn.id, error, isCancellation: isCancellation, of: self)
    // Another thread is raising its priority.
    if isUsed { await caller?.othersToLeave() }
    return turn.caller.flatMap(timeout)
  }
}

/// A turn that has begun.
@usableFromInline
struct TakenTurn: ~Copyable, Sendable {
  let id: Int
  let caller: Caller?
}
