import Dispatch

extension PromiseManager {
  /// Runs asynchronous work as a step, and returns its value.
  ///
  /// The work runs in a task of its own, with the task-local values of the calling task, its
  /// priority (<doc:LifeOfAStep#Priorities>), and on the actor of its closure. Canceling the
  /// calling task cancels the step: a waiting step will not run, even if its turn has begun but its
  /// actor is busy, and a running step's task is canceled. If the calling task is already canceled,
  /// no step is added.
  ///
  /// For code that stays on its actor, or uses values that are not `Sendable`, and for less
  /// overhead, use ``withTurn(_:at:waitingAtMost:_:)``. `run` is for work that must be cancelable
  /// apart from its caller, by the manager or by a time limit.
  ///
  /// The work can report its progress, with ``reportProgress(_:)``.
  ///
  /// ```swift
  /// let user = try await manager.run { try await fetchUser() }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name in events, errors and diagnostics.
  ///   - place: The place in the queue.
  ///   - waitingAtMost: The maximum time to wait for the turn, which behaves as that of
  ///     ``withTurn(_:at:waitingAtMost:_:)``; nil means no limit.
  ///   - operation: The work.
  /// - Returns: The result of the work.
  /// - Throws: The error of the work; `CancellationError` if the step was canceled, whatever error
  ///   the work throws; ``PromiseError/timedOut(_:)`` if it timed out;
  ///   ``PromiseError/stillWaiting(_:for:)`` if its turn had not begun in time;
  ///   ``PromiseError/closed`` or ``PromiseError/full(capacity:)`` if it was refused;
  ///   ``PromiseError/deadlock(_:)`` if called in a running step of this manager, which would
  ///   deadlock.
  nonisolated(nonsending) public func run<Value: Sendable>(
    _ name: String? = nil, at place: StepPlace = .last, waitingAtMost: Duration? = nil,
    @_inheritActorContext
    _ operation: @escaping @isolated(any) @Sendable () async throws -> Value
  ) async throws -> Value {
    if let step = RunningStep.deadlockedStep(order) { throw PromiseError.deadlock(step) }
    try Task.checkCancellation()
    let call = AsyncCall(order, name: name, operation.isolation, nil) {
      do { return .value(try await operation()) } catch { return .failure(error) }
    }
    let hasTurn = try call.enter(self, at: place)
    let timer = hasTurn ? nil : limit(call, waitingAtMost: waitingAtMost)
    defer { timer?.cancel() }
    // Not on an actor's thread: the work belongs to no actor.
    let startsHere = isNonisolated()
    let outcome = await suspended {
      call.run(hasTurn: hasTurn, startsHere: startsHere, $0)
    } onCancel: {
      call.cancel()
    } onEscalation: {
      call.escalate(to: $0)
    }
    return try outcome.get()
  }

  /// Runs an existing function as a step, and returns its value.
  ///
  /// Behaves as ``run(_:at:waitingAtMost:_:)``, at the end of the queue.
  ///
  /// ```swift
  /// let user = try await manager.run(fetchUser)
  /// ```
  ///
  /// - Parameter operation: The work.
  /// - Returns: The result of the work.
  /// - Throws: The errors of ``run(_:at:waitingAtMost:_:)``.
  @_disfavoredOverload
  nonisolated(nonsending) public func run<Value: Sendable>(
    @_inheritActorContext
    _ operation: @escaping @isolated(any) @Sendable () async throws -> Value
  ) async throws -> Value {
    try await run(nil, operation)
  }

  /// Waits until no step runs or waits.
  ///
  /// A paused manager with waiting steps is not idle. Returns early if the calling task is
  /// canceled. In a running step, which would deadlock, it reports ``Diagnostic/deadlock(_:)`` and
  /// returns immediately.
  ///
  /// ```swift
  /// manager.add { then in download { then() } }
  /// await manager.idle()
  /// show("all done")
  /// ```
  nonisolated(nonsending) public func idle() async {
    await wait(for: .idle)
  }

  /// Waits until a condition holds or the task is canceled.
  ///
  /// Reports a deadlock.
  nonisolated(nonsending) func wait(for condition: Waiters.Condition) async {
    if order.withLock({ $0.holds(condition) }) { return }
    if let step = RunningStep.deadlockedStep(order) { return report(.deadlock(step)) }
    await [order].wait(for: condition)
  }

  /// Blocks the thread until no step runs or waits.
  ///
  /// For command-line code and tests.
  ///
  /// Do not call it on the queue of the manager's handlers, or in asynchronous code. If it would
  /// block the main thread, where a step has to run, it stops the program with a message; with a
  /// timeout, it reports ``Diagnostic/blockingWait(_:)``, and waits. Add the steps and wait in a
  /// function that is not of the main actor: the closures at the top level of `main.swift` are.
  ///
  /// ```swift
  /// func downloadTwice() throws {
  ///   let manager = PromiseManager()
  ///   manager.add { then in download { then() } }
  ///   manager.add { then in download { then() } }
  ///   try manager.waitUntilIdle(timeout: .seconds(60))
  /// }
  /// try downloadTwice()
  /// ```
  ///
  /// - Parameter timeout: The maximum time to wait; nil means no limit.
  /// - Throws: ``PromiseError/timedOut(_:)``, or ``PromiseError/deadlock(_:)`` if called in a
  ///   handler, which would deadlock.
  @available(*, noasync, message: "await `idle()` instead")
  public func waitUntilIdle(timeout: Duration? = nil) throws(PromiseError) {
    let thread = ThreadIdentity()
    let step = order.withLock { $0.isHandling(on: thread) ? $0.runningStep : nil }
    if let step = step ?? RunningStep.deadlockedStep(order) { throw .deadlock(step) }
    if MainQueue.isBlockedByWait, order.needsMainQueue {
      (diagnostics ?? .shared).reportBlockingWait(
        timeout,
        """
        a manager was waited for on the main thread, where a step of it has to run; await `idle()`, \
        wait on another thread, or add the steps in a function that is not of the main actor
        """)
    }
    let ticket = Locked<Waiters.Ticket?>(nil)
    let semaphore = DispatchSemaphore(value: 0)
    order.when(.idle, ticket) { semaphore.signal() }
    // The promises that wait for this thread may include one that the running step waits for.
    Trampoline.current?.handOver()
    guard let timeout else { return semaphore.wait() }
    if semaphore.wait(timeout: .after(timeout)) == .timedOut {
      order.withdraw(ticket)
      throw .timedOut(timeout)
    }
  }

  /// Adds a step made from a closure, when the queue has room for it.
  ///
  /// Meanwhile the step keeps its place in the order of addition, counts as waiting, and runs in
  /// its turn even if the manager is closed. Without a capacity there is always room.
  ///
  /// ```swift
  /// let manager = PromiseManager(capacity: 2)
  /// for url in urls {
  ///   try await manager.addWhenRoom { then in upload(url) { then($0) } }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name in events, errors and diagnostics.
  ///   - handler: The work; it must call `then`.
  /// - Returns: The step's handle.
  /// - Throws: ``PromiseError/closed``; `CancellationError` if the task or the step was canceled
  ///   before there was room, in which case the step will not run (if the task is canceled later,
  ///   the step runs); ``PromiseError/deadlock(_:)`` if there is no room and the caller is a
  ///   running step of this manager, which must end first.
  @discardableResult
  nonisolated(nonsending) public func addWhenRoom(
    _ name: String? = nil,
    @_inheritActorContext _ handler: @escaping @isolated(any) @Sendable (_ then: Then) -> Void
  ) async throws -> StepHandle {
    try await addWhenRoom(Step(name, handler))
  }

  /// Adds an existing handler as a step, when the queue has room for it.
  ///
  /// Behaves as ``addWhenRoom(_:_:)``.
  ///
  /// ```swift
  /// let handle = try await manager.addWhenRoom(handler)
  /// ```
  ///
  /// - Parameter handler: The work; it must call `then`.
  /// - Returns: The step's handle.
  /// - Throws: The errors of ``addWhenRoom(_:_:)``.
  @_disfavoredOverload
  @discardableResult
  nonisolated(nonsending) public func addWhenRoom(
    @_inheritActorContext _ handler: @escaping @isolated(any) @Sendable (_ then: Then) -> Void
  ) async throws -> StepHandle {
    try await addWhenRoom(nil, handler)
  }

  /// Adds a step of any type, for instance a promise, when the queue has room for it.
  ///
  /// Behaves as ``addWhenRoom(_:_:)``. A promise that has not started is reserved for its turn
  /// immediately, not only when there is room. If the step is canceled before there is room, for
  /// instance by its task, the promise is canceled as well. A refused promise does not change.
  ///
  /// ```swift
  /// let manager = PromiseManager(capacity: 2)
  /// for url in urls {
  ///   try await manager.addWhenRoom(Promise(url) { try await load(url) })
  /// }
  /// ```
  ///
  /// - Parameter step: The step. Its `handler` is read immediately.
  /// - Returns: The step's handle.
  /// - Throws: ``PromiseError/closed``; `CancellationError` if the task or the step was canceled
  ///   before there was room; ``PromiseError/deadlock(_:)`` if there is no room and the caller is a
  ///   running step of this manager, which must end first.
  @discardableResult
  nonisolated(nonsending) public func addWhenRoom(
    _ step: some Promisable
  ) async throws -> StepHandle {
    try Task.checkCancellation()
    let step = Step(step)
    let handle = Locked<StepHandle?>(nil)
    let result: Result<Bool, any Error> = await suspended { continuation in
      // A promise is reserved when this returns: the task does not resume before.
      park(step, handle) { continuation.resume(returning: $0) }
      // The task may have been canceled before the handle was stored.
      if Task.isCancelled { unpark(handle) }
      raise(handle, to: Task.currentPriority)
    } onCancel: {
      unpark(handle)
    } onEscalation: {
      raise(handle, to: $0)
    }
    let hasRoom = try result.get()
    guard hasRoom, let handle = handle.withLock({ $0 }) else { throw CancellationError() }
    return handle
  }

  private func raise(_ handle: Locked<StepHandle?>, to priority: TaskPriority) {
    guard let handle = handle.withLock({ $0 }) else { return }
    order.transition { order in
      order.raisingRunning { $0.line.raiseAdder(of: handle.id, to: priority.rawValue) }
    }
  }

  /// Removes the step of a canceled adder, unless there was room for it.
  private func unpark(_ handle: Locked<StepHandle?>) {
    guard let handle = handle.withLock({ $0 }) else { return }
    order.transition { order in
      // With room, the step stays in the queue, and the adder returns its handle.
      guard order.line.backpressure.isParked(handle.id) else { return }
      order.cancel(handle.id, handle.record)
    }
  }

  private func park(
    _ step: Step, _ handle: Locked<StepHandle?>,
    _ resume: @escaping @Sendable (Result<Bool, any Error>) -> Void
  ) {
    let asking = RunningStep.deadlockedStep(order)
    let work = step.workOfTurn
    let admission = record(of: step).enter { record, order in
      if let asking, !order.line.hasRoom, !order.isClosed { return .refused(.deadlock(asking)) }
      let admission = order.addWhenRoom(
        work, record, lock: self.order, owner: self, admitted: { resume(.success($0)) })
      // Before the adder can be notified, because it reads the handle.
      if case .entered(let record, let id, _) = admission {
        handle.withLock { $0 = StepHandle(record: record, id: id) }
      }
      return admission
    }
    switch admission {
    case .entered(_, let id, let claims): if claims { startTurn(only: id) }
    case .refused(let error): resume(.failure(error))
    }
  }
}

extension Array where Element == Locked<SerialOrder> {
  /// Waits until a condition has held in each of the orders, or the task is canceled.
  ///
  /// For all at once: each raises its running work to the priority of the task.
  nonisolated(nonsending) func wait(for condition: Waiters.Condition) async {
    guard !isEmpty else { return }
    let waits = map { (order: $0, ticket: Locked<Waiters.Ticket?>(nil)) }
    let left = Locked(count)
    await suspended { continuation in
      for (order, ticket) in waits {
        order.when(condition, ticket) {
          let isLast = left.withLock { left in
            left -= 1
            return left == 0
          }
          if isLast { continuation.resume() }
        }
      }
      // The task may have been canceled before the tickets were stored.
      if Task.isCancelled { for (order, ticket) in waits { order.withdraw(ticket) } }
      let priority = Task.currentPriority
      for (order, ticket) in waits { order.raise(ticket, to: priority) }
    } onCancel: {
      for (order, ticket) in waits { order.withdraw(ticket) }
    } onEscalation: { priority in
      for (order, ticket) in waits { order.raise(ticket, to: priority) }
    }
  }
}

extension Locked where State == SerialOrder {
  /// Calls a closure when a condition holds.
  fileprivate func when(
    _ condition: Waiters.Condition, _ ticket: Locked<Waiters.Ticket?>,
    _ wake: @escaping Waiters.Wake
  ) {
    let holds = withLock { order in
      guard let new = order.wait(for: condition, wake) else { return true }
      // Under the lock, so that a canceled caller without a ticket has not been added.
      ticket.withLock { $0 = new }
      return false
    }
    if holds { wake() }
  }

  fileprivate func raise(_ ticket: Locked<Waiters.Ticket?>, to priority: TaskPriority) {
    guard let ticket = ticket.withLock({ $0 }) else { return }
    transition { order in
      order.raisingRunning { $0.line.waiters.raise(ticket, to: priority.rawValue) }
    }
  }

  fileprivate func withdraw(_ ticket: Locked<Waiters.Ticket?>) {
    guard let ticket = ticket.withLock({ $0 }) else { return }
    withLock { $0.line.waiters.remove(ticket) }?()
  }
}
