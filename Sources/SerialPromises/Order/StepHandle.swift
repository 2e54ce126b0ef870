/// A handle to a step in a manager: for its state and outcome, and to cancel or move it.
///
/// A step runs even if its handle is discarded. A handle does not retain the manager. The outcome,
/// with its error, is available while a handle of the step exists, and is released with the last
/// handle. All members are safe to use on any thread.
///
/// ```swift
/// let handle = manager.add("upload") { then in upload(file) { then($0) } }
/// handle.cancel()  // while it waits: `upload` is never called
/// ```
public struct StepHandle: Sendable {
  /// The state of a step.
  ///
  /// ```swift
  /// switch handle.state {
  /// case .waiting: show("waiting")
  /// case .running: show("running")
  /// case .over(let outcome): show("over: \(outcome)")
  /// }
  /// ```
  public enum State: Sendable {
    /// The step has not started.
    case waiting
    /// The step has started and not ended.
    case running
    /// The step has ended, or has timed out and may still run.
    case over(StepOutcome)
  }

  let record: StepRecord

  /// The step's number in its manager, counted from 1 in the order of addition; 0 if the step was
  /// refused.
  ///
  /// ```swift
  /// let handle = manager.add("upload") { then in upload(file) { then($0) } }
  /// let title = "\(handle.id): \(handle.name ?? "step")"  // 2: upload
  /// ```
  public let id: Int

  /// The name passed to `add`, or the name of the step's promise.
  ///
  /// ```swift
  /// let handle = manager.add("upload") { then in upload(file) { then($0) } }
  /// let title = "\(handle.id): \(handle.name ?? "step")"  // 2: upload
  /// ```
  public var name: String? {
    record.name
  }

  /// The current state of the step, which may change at any time.
  ///
  /// Reading a failure marks it as handled.
  ///
  /// ```swift
  /// switch handle.state {
  /// case .waiting: show("waiting")
  /// case .running: show("running")
  /// case .over(let outcome): show("over: \(outcome)")
  /// }
  /// ```
  public var state: State {
    let state = record.lock.withLock { _ in record.state(of: id) }
    if case .over(.failed) = state { record.receiveFailure() }
    return state
  }

  /// The progress of the step from 0 to 1.
  ///
  /// 0 while the step waits, then what its work has reported, and 1 when it has ended, whatever its
  /// outcome: so it counts in ``PromiseManager/progress``. A step that has timed out and still runs
  /// has not ended. A refused step has ended, and does not count.
  ///
  /// ```swift
  /// let handle = manager.add("upload") { then in upload(file) { then($0) } }
  /// let percent = Int(handle.progress * 100)
  /// ```
  public var progress: Double {
    record.lock.withLock { order in
      if order.isRunning(id) { return order.stepProgress }
      return if case .waiting = record.state(of: id) { 0 } else { 1 }
    }
  }

  /// The outcome of the step; suspends until the step has ended or timed out.
  ///
  /// Canceling the waiting task neither cancels the step nor ends the wait. If a running step waits
  /// for a later step of its own manager, the outcome is ``PromiseError/deadlock(_:)``, returned
  /// immediately.
  ///
  /// ```swift
  /// switch await handle.outcome {
  /// case .succeeded: show("done")
  /// case .failed(let error): show("failed: \(error)")
  /// case .cancelled: show("cancelled")
  /// }
  /// ```
  nonisolated(nonsending) public var outcome: StepOutcome {
    get async {
      if case .over(let outcome) = state { return outcome }
      if let step = RunningStep.deadlockedStep(record.lock) {
        let diagnostics = record.lock.withLock { $0.diagnostics }
        (diagnostics ?? .shared).report(.deadlock(step))
        return .failed(PromiseError.deadlock(step))
      }
      return await suspended { continuation in
        observe { continuation.resume(returning: $0) }
        escalate(to: Task.currentPriority)
      } onCancel: {
      } onEscalation: {
        escalate(to: $0)
      }
    }
  }

  /// Cancels the step.
  ///
  /// A waiting step will not run. A running step is requested to stop, through
  /// ``Then/onCancel(_:)`` and, if it is a promise, by canceling that promise. It still ends by
  /// calling `then`. A step that has ended does not change.
  ///
  /// ```swift
  /// let handle = manager.add("upload") { then in upload(file) { then($0) } }
  /// handle.cancel()  // while it waits: `upload` is never called
  /// ```
  public func cancel() {
    record.lock.transition { $0.cancel(id, record) }
  }

  /// Cancels the step, and ends it without its `then` if it takes longer than a grace period.
  ///
  /// Work that the step started may continue and overlap with the next step: only the step can stop
  /// it. The next step starts after the handler returns, and a call of `then` until that moment
  /// still counts. If the clock throws, the grace period counts as passed. Also ends the turn of a
  /// step that has timed out.
  ///
  /// ```swift
  /// let handle = manager.add { then in upload(file) { error in then(error) } }
  /// // Waits at most this long for its `then`.
  /// handle.cancel(grace: .seconds(5))
  /// ```
  ///
  /// - Parameters:
  ///   - grace: The time after which the step ends without its `then`.
  ///   - clock: The clock that measures the grace period.
  public func cancel(grace: Duration, clock: some Clock<Duration> = ContinuousClock()) {
    let isRunning = record.lock.transition { order in
      order.cancel(id, record)
      // A step that has timed out has an outcome, and may still run.
      return order.isRunning(id)
    }
    if isRunning { record.lock.endCancelled(id, after: grace, on: clock) }
  }

  /// The segment of the step, if it waits in the order of `lock`.
  ///
  /// Requires that lock.
  func segmentOfWaiting(in lock: Locked<SerialOrder>) -> Segment? {
    // Compares the locks first: this one does not protect the record of another manager's step.
    record.lock === lock ? record.segmentOfWaiting(id) : nil
  }

  /// Records that a task of this priority waits for the end of the step.
  private func escalate(to priority: TaskPriority) {
    record.lock.transition { $0.wait(forEndOf: id, record, at: priority.rawValue) }
  }

  /// Registers a callback for the end of the step; calls it immediately if the step has ended.
  func observe(_ observer: @escaping @Sendable (StepOutcome) -> Void) {
    let outcome = record.lock.withLock { $0.line.observe(id, record, observer) }
    guard let outcome else { return }
    if case .failed = outcome { record.receiveFailure() }
    observer(outcome)
  }
}

extension Locked where State == SerialOrder {
  /// Ends a step without its `then` unless it ends within the grace period.
  func endCancelled(_ id: Int, after grace: Duration, on clock: some Clock<Duration>) {
    // A grace period that cannot be measured counts as passed.
    let timer = Timer(after: grace, on: clock) { _ in
      let result = self.transition { $0.endCancelled(id: id) }
      if case .claimed(let manager?) = result { manager.continueElsewhere() }
    }
    withLock { $0.supervision(of: id)?.timers.append(timer) }
  }
}
