import Synchronization

/// Asynchronous work that is a step: of `run`, which waits for its value, or of `enqueue`.
///
/// The record of its step: notified of a cancellation and of the end without closures.
///
/// Sendable because `state` is accessed only under the lock of the order, and what has a property of
/// its own by one thread at a time, as its comment says. Type-erased for the same reason as the
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

    var isCaller: Bool { if case .caller = self { true } else { false } }

    /// Passes on the outcome of a step that was not added.
    func refuse(_ error: any Error) {
      switch self {
      case .caller(let continuation): continuation.resume(returning: .failure(error))
      case .promise(let core): core.settle(.failure(error), by: .adopted)
      }
    }
  }

  private let operation: Operation

  /// What its adder knows of the step.
  private struct Addition {
    let receiver: Receiver
    /// The steps that wait for this one.
    let waiting: RunningStep?
    /// Whether the code that adds the step is part of another step.
    let isInStep: Bool
    let thread = ThreadIdentity()
  }

  private struct State {
    /// The number of the step; 0 before its addition.
    var id = 0
    var task = CancellableTask()
    var isCancelled = false
    /// What the work has returned.
    var result: Outcome?
  }

  // Not parts of `state`: while one thread uses one of these without the lock, another one may change the
  // state, and an access to a part of a structure is one to the whole.

  /// Set before the addition, and constant from then on.
  private var addition: Addition?

  /// The continuation of the step, from the start of its handler until its task takes it.
  ///
  /// Used by nothing else.
  private var then: Then?

  /// What follows from the outcome of the promise.
  ///
  /// Used by the thread that ends the step.
  private var effects = Settlement.Effects()

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
    // Read here, because the work may start in another context.
    let waiting = receiver.isCaller ? RunningStep.running(caller) : nil
    addition = Addition(receiver: receiver, waiting: waiting, isInStep: caller != nil)
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
    guard let addition else { preconditionFailure("the step was added") }
    self.then = then
    let isCallersTurn = isBeingAdded.load(ordering: .relaxed) && addition.thread == ThreadIdentity()
    if isCallersTurn, addition.receiver.isCaller {
      Task.startingHere { await self.work(isInStep: addition.isInStep) }
    } else if isCallersTurn {
      Task { await self.work(isInStep: addition.isInStep) }
    } else {
      // This thread runs no task, or that of another step, whose task-local values must not be
      // inherited.
      Task.startingHereDetached { await self.work(isInStep: false) }
    }
  }

  /// - Parameter isInStep: Whether this task has inherited the mark of another step.
  nonisolated(nonsending) private func work(isInStep: Bool) async {
    guard let then = then.take() else { preconditionFailure("the step runs") }
    await withUnsafeCurrentTask { current in
      // Before the work starts, which may be canceled before its first suspension.
      let (id, wasCancelled) = lock.withLock { order in
        state.task.enter(current)
        return (state.id, order.isRunning(state.id) && order.isCancelRequested)
      }
      // If the step was canceled in between, the cancellation found no task.
      if wasCancelled { cancelWork() }
      let step = RunningStep(lock: lock, id: id, outer: addition?.waiting)
      let outcome = await RunningStep.$current.withValue(step) { await operation() }
      let mayEnd = lock.withLock { _ in
        state.result = outcome
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
    guard case .promise(let core) = addition?.receiver else { return }
    core.settleLocked(self.outcome(outcome), &effects)
  }

  override func ended(_ outcome: StepOutcome) {
    switch addition?.receiver {
    case .caller(let continuation):
      continuation.resume(returning: lock.withLock { _ in self.outcome(outcome) })
    case .promise(let core):
      var taken = Settlement.Effects()
      swap(&taken, &effects)
      core.carryOut(taken)
    case nil: break
    }
  }

  /// Requires the lock.
  private func outcome(_ outcome: StepOutcome) -> Outcome {
    switch outcome {
    // Includes work that ended after the step had timed out, as requested.
    case .failed(let error): .failure(error)
    // Stored before the call of `then` that ended the step. Without a result, the step was canceled before,
    // or ended by a grace period.
    case .succeeded, .cancelled: state.result ?? .failure(CancellationError())
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
