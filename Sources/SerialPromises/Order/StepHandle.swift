/// What `add` returns: a step's name and number, its state, its end, and the way to cancel it.
///
/// A handle may be thrown away; the step runs all the same. It does not keep the manager alive.
/// The outcome, with its error, can be asked for as long as a handle of the step exists, and is
/// released with the last one. All members may be used from any thread.
///
/// ```swift
/// let handle = manager.add("upload") { then in upload(file) { error in then(error) } }
/// handle.cancel()  // while it waits: `upload` is never called
/// ```
public struct StepHandle: Sendable {
  /// Where a step is on its way.
  ///
  /// ```swift
  /// switch handle.state {
  /// case .waiting: show("waiting")
  /// case .running: show("running")
  /// case .over(let outcome): show("over: \(outcome)")
  /// }
  /// ```
  public enum State: Sendable {
    /// It has not begun.
    case waiting
    /// Its handler has been called, and it is not over.
    case running
    /// It is over.
    case over(StepOutcome)
  }

  let record: StepRecord

  init(_ record: StepRecord, id: Int) {
    self.record = record
    self.id = id
  }

  /// The step's number in its manager, counted from 1 in the order of adding; 0 if the step was
  /// refused.
  ///
  /// ```swift
  /// let handle = manager.add("upload") { then in upload(file) { error in then(error) } }
  /// let title = "\(handle.id): \(handle.name ?? "step")"  // 2: upload
  /// ```
  public let id: Int

  /// The name that the step was added with, or that of the promise that is the step.
  ///
  /// ```swift
  /// let handle = manager.add("upload") { then in upload(file) { error in then(error) } }
  /// let title = "\(handle.id): \(handle.name ?? "step")"  // 2: upload
  /// ```
  public var name: String? {
    record.name
  }

  /// Where the step is on its way; it may have moved on when you look at it.
  ///
  /// ```swift
  /// switch handle.state {
  /// case .waiting: show("waiting")
  /// case .running: show("running")
  /// case .over(let outcome): show("over: \(outcome)")
  /// }
  /// ```
  public var state: State {
    record.lock.withLock { _ in record.state(of: id) }
  }

  /// How the step ended; waits until it has.
  ///
  /// Cancelling the waiting task neither cancels the step nor ends the wait. A running step
  /// that waits for a later step of its own manager is told so: it gets
  /// ``PromiseError/deadlock(_:)`` as outcome at once.
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
      return await withCheckedContinuation { continuation in
        observe { continuation.resume(returning: $0) }
      }
    }
  }

  /// Cancels the step.
  ///
  /// A step that waits will never run. A step that runs is asked to stop, through its `then`'s
  /// ``Then/onCancel(_:)`` and, if it is a promise, by canceling that; it still ends by calling
  /// `then`. A step that is over stays as it is.
  ///
  /// ```swift
  /// let handle = manager.add("upload") { then in upload(file) { error in then(error) } }
  /// handle.cancel()  // while it waits: `upload` is never called
  /// ```
  public func cancel() {
    record.lock.transition { order, consequences in
      _ = order.cancel(id, record, &consequences)
    }
  }

  /// Cancels the step, and ends it without its `then` if it takes longer than a grace period.
  ///
  /// What the step started may still be running afterwards, beside the next step: only the step
  /// knows how to stop it. Its handler must have returned before the next step can begin, and a `then`
  /// that is called before that still counts. A time that the clock cannot measure, because it throws,
  /// counts as over.
  ///
  /// ```swift
  /// let handle = manager.add { then in upload(file) { error in then(error) } }
  /// handle.cancel(grace: .seconds(5))  // waits at most this long for its `then`
  /// ```
  ///
  /// - Parameters:
  ///   - grace: How long the step may go on after it was told.
  ///   - clock: What measures the time.
  public func cancel(grace: Duration, clock: some Clock<Duration> = ContinuousClock()) {
    let isRunning = record.lock.transition { order, consequences in
      order.cancel(id, record, &consequences)
    }
    if isRunning { record.lock.endCancelled(id, after: grace, on: clock) }
  }

  /// Calls back when the step is over, now if it is so already.
  func observe(_ observer: @escaping @Sendable (StepOutcome) -> Void) {
    record.lock.transition { order, consequences in
      if let outcome = order.observe(id, record, observer) {
        consequences.needed.notify([observer], outcome)
      }
    }
  }
}

extension Locked where State == SerialOrder {
  /// Ends a step without its `then` unless it is over within the time given.
  func endCancelled(_ id: Int, after grace: Duration, on clock: some Clock<Duration>) {
    // A grace period that cannot be measured counts as over.
    let timer = Timer(after: grace, on: clock) { _ in
      let result = self.transition { $0.endCancelled(id: id, &$1) }
      if case .claimed(let manager?) = result { manager.continueElsewhere() }
    }
    keep(timer, untilOver: id)
  }
}
