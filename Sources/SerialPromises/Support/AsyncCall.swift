/// Asynchronous work on its way through a manager, and the task that waits for its value.
///
/// Sendable because what is mutable is touched under one of the shared locks only. Does not know the
/// type of the value, as the mechanism behind promises does not, and for the same reason.
final class AsyncCall: @unchecked Sendable {
  private let operation: @Sendable () async throws -> any Sendable

  private var handle: StepHandle?
  private var isCancelled = false
  private var isDone = false
  private var result = Outcome.value(())

  init(_ operation: @escaping @Sendable () async throws -> any Sendable) {
    self.operation = operation
  }

  private func withLock<Result>(_ body: () -> Result) -> Result {
    SharedLocks.lock(for: self)._withUnsafeGuaranteedRef { lock in lock.withLock { _ in body() } }
  }

  /// Adds the work as a step.
  ///
  /// - Parameters:
  ///   - name: What the step is called.
  ///   - manager: Where the step is added.
  ///   - finish: Called once, when the step is over.
  func begin(
    named name: String?, on manager: PromiseManager,
    _ finish: @escaping @Sendable (Outcome) -> Void
  ) {
    let handle = manager.addSilently(Step(name) { then in self.run(then) })
    if case .over(let outcome) = handle.state { return finish(self.outcome(outcome)) }
    let isCancelled = withLock {
      self.handle = handle
      return self.isCancelled
    }
    // The task may have been cancelled before there was a handle to cancel with.
    if isCancelled { handle.cancel() }
    handle.observe { finish(self.outcome($0)) }
  }

  /// The waiting task was cancelled: a step that waits never runs, one that runs is told.
  func cancel() {
    let handle = withLock {
      isCancelled = true
      return self.handle
    }
    handle?.cancel()
  }

  private func run(_ then: Then) {
    let task = Task.startingHere { [self] in
      await RunningStep.$current.withValue(then.runningStep) {
        do { end(.value(try await operation()), then) } catch { end(.failure(error), then) }
      }
    }
    // Work that needed no wait is over, and so is the need to cancel it.
    if withLock({ !isDone }) { then.onCancel { task.cancel() } }
  }

  private func end(_ outcome: Outcome, _ then: Then) {
    withLock {
      result = outcome
      isDone = true
    }
    if case .failure(let error) = outcome { then(error) } else { then() }
  }

  private func outcome(_ outcome: StepOutcome) -> Outcome {
    if withLock({ isDone }) { return result }
    // Without a result the step was refused, cancelled, or ended by a grace period.
    if case .failed(let error) = outcome { return .failure(error) }
    return .failure(CancellationError())
  }
}
