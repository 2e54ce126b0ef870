/// Asynchronous work that is a step: of `run`, which waits for its value, or of `enqueue`.
///
/// Sendable because mutable state is accessed only under one of the shared locks. Type-erased for
/// the same reason as the implementation of promises.
final class AsyncCall: @unchecked Sendable {
  /// Runs on the executor of its caller, so that only the user's function checks for a change.
  typealias Operation = nonisolated(nonsending) @Sendable () async -> Outcome

  /// The receiver of the outcome.
  enum Receiver {
    /// The task that called `run`, which waits, so that the work can begin on its thread.
    case caller(UnsafeContinuation<Outcome, Never>)
    /// The promise of `enqueue`.
    case promise(Core)

    func callAsFunction(_ outcome: Outcome) {
      switch self {
      case .caller(let continuation): continuation.resume(returning: outcome)
      case .promise(let core): core.settle(outcome, by: .adopted)
      }
    }
  }

  private let operation: Operation

  /// Set before the addition of the step.
  private var receiver: Receiver?
  /// The steps that wait for this one.
  private var waiting: RunningStep?

  /// The thread that adds the step, during the addition.
  private var adder: ThreadIdentity?
  private var handle: StepHandle?

  /// The step, once it runs.
  private var step: RunningStep?
  /// The continuation of the step, until its task takes it.
  private var then: Then?
  private var task = CancellableTask()
  private var isCancelled = false
  private var isDone = false
  private var result = Outcome.value(())

  init(_ operation: @escaping Operation) {
    self.operation = operation
  }

  private func withLock<Result>(_ body: () -> Result) -> Result {
    SharedLocks.lock(for: self)._withUnsafeGuaranteedRef { lock in lock.withLock { _ in body() } }
  }

  private var isAwaited: Bool { if case .caller = receiver { true } else { false } }

  /// Adds the work as a step.
  ///
  /// - Parameters:
  ///   - name: The name of the step.
  ///   - manager: The manager of the step.
  ///   - place: The place of the step in the queue.
  ///   - receiver: Receives the outcome once, when the step has ended.
  func begin(
    named name: String?, on manager: PromiseManager, at place: StepPlace, for receiver: Receiver
  ) {
    // Without the lock: no other thread has a reference before the addition.
    self.receiver = receiver
    // Read here, because the work may start in another context.
    if isAwaited { waiting = RunningStep.callerSteps }
    adder = ThreadIdentity()
    let handle = manager.addCall(Step(name) { then in self.run(then) }, at: place)
    if case .over(let outcome) = handle.state { return receiver(self.outcome(outcome)) }
    let isCancelled = withLock {
      adder = nil
      self.handle = handle
      return self.isCancelled
    }
    // The task may have been canceled before the handle was stored.
    if isCancelled { handle.cancel() }
    handle.observe { receiver(self.outcome($0)) }
  }

  /// Cancels the step after its waiting task was canceled.
  func cancel() {
    let (handle, step) = withLock {
      isCancelled = true
      return (self.handle, self.step)
    }
    // On an idle manager the step runs before the handle is stored.
    if let step { step.cancel() } else { handle?.cancel() }
  }

  private func run(_ then: Then) {
    let step = then.runningStep(in: waiting)
    let (isCancelled, isCallersTurn) = withLock {
      self.step = step
      self.then = then
      return (self.isCancelled, adder == ThreadIdentity())
    }
    if isCancelled {
      // Cancels the step as well: otherwise the failure policy would treat this as a failure.
      step.cancel()
      self.then = nil
      return end(.failure(CancellationError()), then)
    }
    if isCallersTurn, isAwaited {
      Task.startingHere { await self.work() }
    } else if isCallersTurn {
      Task { await self.work() }
    } else {
      // This thread runs no task, or that of another step, whose task-local values must not be
      // inherited.
      Task.startingHereDetached { await self.work() }
    }
  }

  nonisolated(nonsending) private func work() async {
    // Without the lock: stored before this task was created, and used by nothing else.
    guard let step, let then = then.take() else { preconditionFailure("the step runs") }
    await withUnsafeCurrentTask { current in
      // Before the work starts, which may be canceled before its first suspension. Without the
      // lock: no other thread accesses the task before the handler is registered.
      task.enter(current)
      then.onCancel { self.cancelTask() }
      let outcome = await RunningStep.$current.withValue(step) { await operation() }
      let mayEnd = withLock {
        result = outcome
        isDone = true
        return task.leave()
      }
      if RunningStep.current == nil {
        end(outcome, then)
      } else {
        // The caller may continue from here, so this task is no longer part of the step.
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
    // Late only if a time limit or a grace period ended the step, which canceled this task: not a
    // misuse.
    if case .failure(let error) = outcome {
      then.token.call(error, reportsLate: false)
    } else {
      then.token.call(nil, reportsLate: false)
    }
  }

  private func outcome(_ outcome: StepOutcome) -> Outcome {
    // Includes work that ended after the step had timed out, as requested.
    if case .failed(let error) = outcome { return .failure(error) }
    if withLock({ isDone }) { return result }
    // Without a result, the step was canceled, or ended by a grace period.
    return .failure(CancellationError())
  }
}

extension Task where Failure == Never, Success == Void {
  /// Starts a task on the calling thread if the system supports it, so that tasks start in order of
  /// the calls.
  @discardableResult
  static func startingHere(
    _ operation: @escaping @isolated(any) @Sendable () async -> Void
  ) -> Self {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      return Task.immediate(operation: operation)
    }
    return Task(operation: operation)
  }

  /// As `startingHere`, but the task does not inherit the caller's context.
  static func startingHereDetached(
    _ operation: @escaping @isolated(any) @Sendable () async -> Void
  ) {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      _ = Task.immediateDetached(operation: operation)
    } else {
      _ = Task.detached(operation: operation)
    }
  }
}
