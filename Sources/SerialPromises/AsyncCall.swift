/// Asynchronous work on its way through a manager, and the task that waits for its value.
///
/// Sendable because what is mutable is touched under one of the shared locks only. Does not know the
/// type of the value, as the mechanism behind promises does not, and for the same reason.
final class AsyncCall: @unchecked Sendable {
  private let operation: @Sendable () async throws -> any Sendable

  /// The steps that wait for this one.
  ///
  /// Read here, because the work may start in another context.
  private let waiting = RunningStep.callerSteps

  /// The thread that adds the step, while it does.
  private var adder: ThreadIdentity?
  private var handle: StepHandle?

  /// The step, once it runs.
  private var step: RunningStep?
  private var task = CancellableTask()
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
  ///   - place: Where it goes in the queue.
  ///   - finish: Called once, when the step is over.
  func begin(
    named name: String?, on manager: PromiseManager, at place: StepPlace,
    _ finish: @escaping @Sendable (Outcome) -> Void
  ) {
    // Without the lock: nobody else has this before it is added.
    adder = ThreadIdentity()
    let handle = manager.addCall(Step(name) { then in self.run(then) }, at: place)
    if case .over(let outcome) = handle.state { return finish(self.outcome(outcome)) }
    let isCancelled = withLock {
      adder = nil
      self.handle = handle
      return self.isCancelled
    }
    // The task may have been cancelled before there was a handle to cancel with.
    if isCancelled { handle.cancel() }
    handle.observe { finish(self.outcome($0)) }
  }

  /// The waiting task was cancelled: a step that waits never runs, one that runs is told.
  func cancel() {
    let (handle, step) = withLock {
      isCancelled = true
      return (self.handle, self.step)
    }
    // On an idle manager the step runs before there is a handle.
    if let step { step.cancel() } else { handle?.cancel() }
  }

  private func run(_ then: Then) {
    let step = then.runningStep(in: waiting)
    let (isCancelled, isCallersTurn) = withLock {
      self.step = step
      return (self.isCancelled, adder == ThreadIdentity())
    }
    if isCancelled {
      // Told to the step too, or the failure policy would take this for a failure.
      step.cancel()
      return end(.failure(CancellationError()), then)
    }
    if isCallersTurn {
      Task.startingHere { await self.work(in: step, then) }
    } else {
      // This thread runs no task, or that of another step, whose values are not for this one.
      Task.startingHereDetached { await self.work(in: step, then) }
    }
  }

  private func work(in step: RunningStep, _ then: Then) async {
    await withUnsafeCurrentTask { current in
      // Before the work begins, which may be cancelled before it is suspended for the first time.
      // Without the lock: nobody looks before the handler is registered.
      task.enter(current)
      then.onCancel { self.cancelTask() }
      let outcome = await RunningStep.$current.withValue(step) {
        do { return Outcome.value(try await operation()) } catch { return .failure(error) }
      }
      let mayEnd = withLock {
        result = outcome
        isDone = true
        return task.leave()
      }
      if RunningStep.current == nil {
        end(outcome, then)
      } else {
        // The caller may go on now: what runs here from now on is not what it waits for.
        RunningStep.$current.withValue(nil) { end(outcome, then) }
      }
      guard !mayEnd else { return }
      await withUnsafeContinuation { continuation in
        if withLock({ task.leave(continuation) }) { continuation.resume() }
      }
    }
  }

  private func cancelTask() {
    guard let current = withLock({ task.beginCancel() }) else { return }
    current.cancel()
    withLock { task.endCancel() }?.resume()
  }

  private func end(_ outcome: Outcome, _ then: Then) {
    // Late only if a time limit or a grace period ended the step, which canceled this task: no misuse.
    if case .failure(let error) = outcome {
      then.token.call(error, reportsLate: false)
    } else {
      then.token.call(nil, reportsLate: false)
    }
  }

  private func outcome(_ outcome: StepOutcome) -> Outcome {
    // Also of work that ended after the step's time was over: it may have been told to, and says so.
    if case .failed(let error) = outcome { return .failure(error) }
    if withLock({ isDone }) { return result }
    // Without a result the step was cancelled, or ended by a grace period.
    return .failure(CancellationError())
  }
}

extension Task where Failure == Never, Success == Void {
  /// Starts a task on the calling thread if the system can: so tasks begin in the order of calling.
  @discardableResult
  static func startingHere(_ operation: @escaping @Sendable () async -> Void) -> Self {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      return Task.immediate(operation: operation)
    }
    return Task(operation: operation)
  }

  /// As `startingHere`, but the task has nothing of the one that the caller may be in.
  static func startingHereDetached(_ operation: @escaping @Sendable () async -> Void) {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      _ = Task.immediateDetached(operation: operation)
    } else {
      _ = Task.detached(operation: operation)
    }
  }
}
