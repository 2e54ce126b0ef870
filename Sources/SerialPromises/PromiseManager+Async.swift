import Dispatch

extension PromiseManager {
  /// Runs asynchronous work when its turn has come, and returns its value.
  ///
  /// The work runs in a task of its own. When the calling task is cancelled, the step is: if it
  /// still waits it will never run, if it runs its task is cancelled. In a task that is cancelled
  /// already, no step is added. The work sees the caller's task-local values only if its turn comes
  /// at once, and never those of another step: hand it what it needs.
  ///
  /// ```swift
  /// let user = try await manager.run { try await fetchUser() }
  /// ```
  ///
  /// - Parameters:
  ///   - name: What the step is called in events, errors and diagnostics.
  ///   - place: Where it goes in the queue.
  ///   - operation: The work.
  /// - Returns: What the work returned.
  /// - Throws: What the work threw; `CancellationError` if the step was canceled;
  ///   ``PromiseError/timedOut(_:)`` if its time was over; ``PromiseError/closed`` or
  ///   ``PromiseError/full(capacity:)`` if it was refused;
  ///   ``PromiseError/deadlock(_:)`` when called from inside a running step of this manager, which
  ///   would wait for itself.
  nonisolated(nonsending) public func run<Value: Sendable>(
    _ name: String? = nil, at place: StepPlace = .last,
    _ operation: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    if let step = RunningStep.deadlockedStep(order) { throw PromiseError.deadlock(step) }
    try Task.checkCancellation()
    let call = AsyncCall { try await operation() }
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        call.begin(named: name, on: self, at: place) { $0.resume(continuation) }
      }
    } onCancel: {
      call.cancel()
    }
  }

  /// Waits until nothing runs and nothing waits.
  ///
  /// A paused manager in which steps wait is not idle. Returns early when the calling task is
  /// cancelled. Called from inside a running step, which would wait for itself, it reports
  /// ``Diagnostic/deadlock(_:)`` and returns at once.
  ///
  /// ```swift
  /// manager.add { then in download { then() } }
  /// await manager.idle()
  /// show("all done")
  /// ```
  nonisolated(nonsending) public func idle() async {
    await wait(for: .idle)
  }

  /// Waits until something is so, or the task is canceled, or reports that it never can be.
  nonisolated(nonsending) func wait(for condition: Waiters.Condition) async {
    if order.withLock({ $0.holds(condition) }) { return }
    if let step = RunningStep.deadlockedStep(order) { return report(.deadlock(step)) }
    let ticket = Locked<Waiters.Ticket?>(nil)
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        when(condition, ticket) { continuation.resume() }
        // The task may have been cancelled before there was a ticket to withdraw.
        if Task.isCancelled { withdraw(ticket) }
      }
    } onCancel: {
      withdraw(ticket)
    }
  }

  /// Blocks the thread until nothing runs and nothing waits: for command-line code and tests.
  ///
  /// Do not call it on the queue that the manager runs its handlers on, nor in asynchronous code.
  ///
  /// ```swift
  /// manager.add { then in download { then() } }
  /// try manager.waitUntilIdle(timeout: .seconds(60))
  /// ```
  ///
  /// - Parameter timeout: How long to wait; nil means forever.
  /// - Throws: ``PromiseError/timedOut(_:)``, or ``PromiseError/deadlock(_:)`` when a handler
  ///   calls it, which would wait for itself.
  @available(*, noasync, message: "await `idle()` instead")
  public func waitUntilIdle(timeout: Duration? = nil) throws(PromiseError) {
    let thread = ThreadIdentity()
    let step = order.withLock { $0.isHandling(on: thread) ? $0.runningStep : nil }
    if let step = step ?? RunningStep.deadlockedStep(order) { throw .deadlock(step) }
    let ticket = Locked<Waiters.Ticket?>(nil)
    let semaphore = DispatchSemaphore(value: 0)
    when(.idle, ticket) { semaphore.signal() }
    // What waits for this thread may be what the running step waits for.
    Trampoline.current?.handOver()
    guard let timeout else { return semaphore.wait() }
    if semaphore.wait(timeout: .after(timeout)) == .timedOut {
      withdraw(ticket)
      throw .timedOut(timeout)
    }
  }

  private func when(
    _ condition: Waiters.Condition, _ ticket: Locked<Waiters.Ticket?>,
    _ wake: @escaping Waiters.Wake
  ) {
    let holds = order.withLock { order in
      guard let new = order.wait(for: condition, wake) else { return true }
      // Under the lock, so that a canceled caller that finds no ticket has not been added.
      ticket.withLock { $0 = new }
      return false
    }
    if holds { wake() }
  }

  private func withdraw(_ ticket: Locked<Waiters.Ticket?>) {
    guard let ticket = ticket.withLock({ $0 }) else { return }
    order.withLock { $0.stopWaiting(ticket) }?()
  }

  /// Adds a step and waits until there is room for it within the capacity.
  ///
  /// The step keeps its place in the order of adding meanwhile. Without a capacity there is
  /// always room.
  ///
  /// ```swift
  /// let manager = PromiseManager(capacity: 2)
  /// for url in urls {
  ///   try await manager.addWhenRoom { then in upload(url) { error in then(error) } }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - name: What the step is called in events, errors and diagnostics.
  ///   - handler: The work; it has to call `then`.
  /// - Returns: The step's handle.
  /// - Throws: ``PromiseError/closed``; `CancellationError` when the task or the step was cancelled
  ///   before there was room: the step will not run, as it will if the task is cancelled later;
  ///   ``PromiseError/deadlock(_:)`` when there is no room and a running step of this manager asks,
  ///   which would have to end first.
  @discardableResult
  nonisolated(nonsending) public func addWhenRoom(
    _ name: String? = nil, _ handler: @escaping Promisable.Handler
  ) async throws -> StepHandle {
    try await addWhenRoom(name, handler, nil)
  }

  /// Adds a step of any type, a promise for instance, and waits until there is room for it within the
  /// capacity.
  ///
  /// As ``addWhenRoom(_:_:)``. A promise that has not begun belongs to its turn from the call on, not
  /// only when there is room. If the step is canceled before there is room, by its task for instance,
  /// so is the promise; one that is refused is left as it was.
  ///
  /// ```swift
  /// let manager = PromiseManager(capacity: 2)
  /// for url in urls {
  ///   try await manager.addWhenRoom(Promise(url) { try await load(url) })
  /// }
  /// ```
  ///
  /// - Parameter step: The step. Its `handler` is read now.
  /// - Returns: The step's handle.
  /// - Throws: ``PromiseError/closed``; `CancellationError` when the task or the step was canceled
  ///   before there was room; ``PromiseError/deadlock(_:)`` when there is no room and a running step of
  ///   this manager asks, which would have to end first.
  @discardableResult
  nonisolated(nonsending) public func addWhenRoom(
    _ step: some Promisable
  ) async throws -> StepHandle {
    try await addWhenRoom(step.stepName, step.handler, step.promise)
  }

  nonisolated(nonsending) private func addWhenRoom(
    _ name: String?, _ handler: @escaping Promisable.Handler, _ promise: AnyPromise?
  ) async throws -> StepHandle {
    try Task.checkCancellation()
    let handle = Locked<StepHandle?>(nil)
    let hasRoom = try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        // A promise is reserved when this returns: whoever resumes, the task does not run before.
        park(name, handler, promise, handle) { continuation.resume(with: $0) }
        // The task may have been cancelled before there was a handle to cancel with.
        if Task.isCancelled { unpark(handle) }
      }
    } onCancel: {
      unpark(handle)
    }
    guard hasRoom, let handle = handle.withLock({ $0 }) else { throw CancellationError() }
    return handle
  }

  /// The adder was cancelled: takes its step out, unless there was room for it already.
  private func unpark(_ handle: Locked<StepHandle?>) {
    guard let handle = handle.withLock({ $0 }) else { return }
    order.transition { order, consequences in
      // Once it has room, the step is the queue's: the adder is told that it will run.
      guard handle.record.admitted != nil else { return }
      _ = order.cancel(handle.id, handle.record, &consequences)
    }
  }

  private func park(
    _ name: String?, _ handler: @escaping Promisable.Handler, _ promise: AnyPromise?,
    _ handle: Locked<StepHandle?>, _ resume: @escaping @Sendable (Result<Bool, any Error>) -> Void
  ) {
    let asking = RunningStep.deadlockedStep(order)
    let record = StepRecord(order, name: name)
    let enter = {
      (order: inout SerialOrder, consequences: inout Consequences?) -> SerialOrder.Admission in
      if let asking, !order.hasRoom, !order.isClosed { return .refused(.deadlock(asking)) }
      let admission = order.addWhenRoom(
        handler, record, lock: self.order, owner: self, admitted: { resume(.success($0)) },
        &consequences)
      // Before the adder can be told that there is room, and look for the handle.
      if case .entered(let record, let id, _) = admission {
        handle.withLock { $0 = StepHandle(record, id: id) }
      }
      return admission
    }
    let admission =
      promise.map { self.enter($0, record, enter) } ?? order.transition(enter)
    switch admission {
    case .entered(_, let id, let claims): if claims { startTurn(.added(id)) }
    case .refused(let error): resume(.failure(error))
    }
  }
}
