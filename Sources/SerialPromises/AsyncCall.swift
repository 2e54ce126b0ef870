import Synchronization

/// Asynchronous work that is a step: of `run`, which waits for its value, or of `enqueue`.
///
/// The record of its step: notified of a cancellation and of the end without closures.
///
/// Sendable because mutable state is accessed only under the lock of the order, except where a
/// comment says why no other thread accesses it. Type-erased for the same reason as the
/// implementation of promises.
final class AsyncCall: StepRecord, @unchecked Sendable {
  /// Runs on the executor of its caller, so that only the user's function checks for a change.
  typealias Operation = nonisolated(nonsending) @Sendable () async -> Outcome

  /// The receiver of the outcome.
  enum Receiver {
    /// The task that called `run`, which waits, so that the work can begin on its thread.
    case caller(UnsafeContinuation<Outcome, Never>)
    /// The promise of `enqueue`.
    case promise(Core)

    /// Passes on the outcome of a step that was not added.
    func refuse(_ error: any Error) {
      switch self {
      case .caller(let continuation): continuation.resume(returning: .failure(error))
      case .promise(let core): core.settle(.failure(error), by: .adopted)
      }
    }
  }

  private let operation: Operation

  private struct State {
    // Set before the addition of the step, and constant from then on.
    var receiver: Receiver?
    /// The steps that wait for this one.
    var waiting: RunningStep?
    /// Whether the code that adds the step is part of another step.
    var isAddedInStep = false
    /// The thread that adds the step.
    var addingThread = ThreadIdentity()

    /// The number of the step; 0 before its addition.
    var id = 0
    /// The continuation of the step, from the start of its handler until its task takes it.
    var then: Then?
    var task = CancellableTask()
    var isCancelled = false
    var isDone = false
    var result = Outcome.value(())
    /// What follows from the outcome of the promise.
    var effects = Settlement.Effects()
  }

  // Unchecked because of the lock: no user code runs while it is held, so there is no reentrant
  // access.
  @exclusivity(unchecked) private var state = State()

  /// Whether the addition is in progress.
  ///
  /// Significant to the adder only, which runs the step on its stack or not: needs no ordering.
  private let isBeingAdded = Atomic(false)

  init(_ lock: Locked<SerialOrder>, name: String?, _ operation: @escaping Operation) {
    self.operation = operation
    super.init(lock, name: name)
  }

  private var isAwaited: Bool { if case .caller = state.receiver { true } else { false } }

  /// Adds the work as a step.
  ///
  /// - Parameters:
  ///   - manager: The manager of the step.
  ///   - place: The place of the step in the queue.
  ///   - caller: The mark of the calling code.
  ///   - receiver: Receives the outcome once, when the step has ended.
  func begin(
    on manager: PromiseManager, at place: StepPlace, in caller: RunningStep?,
    for receiver: Receiver
  ) {
    // Without the lock: no other thread has a reference before the addition, except `cancel`.
    state.receiver = receiver
    state.isAddedInStep = caller != nil
    // Read here, because the work may start in another context.
    if isAwaited { state.waiting = RunningStep.running(caller) }
    state.addingThread = ThreadIdentity()
    isBeingAdded.store(true, ordering: .relaxed)
    defer { isBeingAdded.store(false, ordering: .relaxed) }
    var work: Work? = Work { then in self.run(then) }
    let admission = lock.transition { order, _ -> SerialOrder.Admission? in
      // The task was canceled before.
      if state.isCancelled { return nil }
      let admission = order.add(&work, self, at: place, lock: lock, owner: manager)
      // Under the lock, because the step may start on another thread.
      if case .entered(_, let id, _) = admission { state.id = id }
      return admission
    }
    switch admission {
    case .entered(_, let id, let claims): if claims { manager.startTurn(.called(id)) }
    case .refused(let error): receiver.refuse(error)
    case nil: receiver.refuse(CancellationError())
    }
  }

  /// Cancels the step after its waiting task was canceled.
  func cancel() {
    lock.transition { order, consequences in
      state.isCancelled = true
      if state.id > 0 { order.cancel(state.id, self, &consequences) }
    }
  }

  private func run(_ then: Then) {
    // Without the lock: used by nothing else before the task.
    state.then = then
    let isCallersTurn =
      isBeingAdded.load(ordering: .relaxed) && state.addingThread == ThreadIdentity()
    if isCallersTurn, isAwaited {
      Task.startingHere { await self.work(isInStep: self.state.isAddedInStep) }
    } else if isCallersTurn {
      Task { await self.work(isInStep: self.state.isAddedInStep) }
    } else {
      // This thread runs no task, or that of another step, whose task-local values must not be
      // inherited.
      Task.startingHereDetached { await self.work(isInStep: false) }
    }
  }

  /// - Parameter isInStep: Whether this task has inherited the mark of another step.
  nonisolated(nonsending) private func work(isInStep: Bool) async {
    // Without the lock: stored before this task was created, and used by nothing else.
    guard let then = state.then.take() else { preconditionFailure("the step runs") }
    await withUnsafeCurrentTask { current in
      // Before the work starts, which may be canceled before its first suspension.
      let wasCancelled = lock.withLock { order in
        state.task.enter(current)
        return order.isRunning(state.id) && order.isCancelRequested
      }
      // If the step was canceled in between, the cancellation found no task.
      if wasCancelled { cancelWork() }
      let step = RunningStep(lock: lock, id: state.id, outer: state.waiting)
      let outcome = await RunningStep.$current.withValue(step) { await operation() }
      let mayEnd = lock.withLock { _ in
        state.result = outcome
        state.isDone = true
        return state.task.leave()
      }
      if isInStep {
        // The caller may continue from here, so this task is no longer part of the step.
        RunningStep.$current.withValue(nil) { end(outcome, then) }
      } else {
        end(outcome, then)
      }
      guard !mayEnd else { return }
      await withUnsafeContinuation { continuation in
        if lock.withLock({ _ in state.task.leave(continuation) }) { continuation.resume() }
      }
    }
  }

  override var isWork: Bool { true }
  override var receivesFailures: Bool { true }

  override func cancelWork() {
    guard let current = lock.withLock({ _ in state.task.beginCancel() }) else { return }
    current.cancel()
    lock.withLock { _ in state.task.endCancel() }?.resume()
  }

  private func end(_ outcome: Outcome, _ then: Then) {
    // Late only if a time limit or a grace period ended the step, which canceled this task: not a
    // misuse.
    let error: (any Error)? = if case .failure(let error) = outcome { error } else { nil }
    then.token.call(error, reportsLate: false)
  }

  // The promise together with the step. Otherwise the manager could be idle, or a step that awaits the
  // promise take its turn, while the promise still looks as if it waited for this step.
  override func settle(_ outcome: StepOutcome) {
    guard case .promise(let core) = state.receiver else { return }
    core.settleLocked(self.outcome(outcome, isDone: state.isDone), &state.effects)
  }

  override func ended(_ outcome: StepOutcome) {
    switch state.receiver {
    case .caller(let continuation):
      var isDone = true
      if case .cancelled = outcome { isDone = lock.withLock { _ in state.isDone } }
      continuation.resume(returning: self.outcome(outcome, isDone: isDone))
    case .promise(let core):
      // Without the lock: stored by this thread, and used by nothing else.
      var taken = Settlement.Effects()
      swap(&taken, &state.effects)
      core.carryOut(taken)
    case nil: break
    }
  }

  private func outcome(_ outcome: StepOutcome, isDone: Bool) -> Outcome {
    switch outcome {
    // Includes work that ended after the step had timed out, as requested.
    case .failed(let error): .failure(error)
    // Stored before the call of `then` that ended the step.
    case .succeeded: state.result
    // Without a result, the step was canceled before, or ended by a grace period.
    case .cancelled: isDone ? state.result : .failure(CancellationError())
    }
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
