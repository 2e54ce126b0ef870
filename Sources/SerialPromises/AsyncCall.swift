/// Asynchronous work that is a step: of `run`, which waits for its value, or of `enqueue`.
///
/// Its task is made when the step is added, in the context of the caller, and waits for its turn.
///
/// Sendable because mutable state is accessed only under the lock of the order, and the effects by
/// the thread that ends the step. Type-erased for the same reason as the implementation of
/// promises.
final class AsyncCall: Caller, Worker, @unchecked Sendable {
  /// Runs on the executor of its caller, so that only the user's function checks for a change.
  typealias Operation = nonisolated(nonsending) @Sendable () async -> Outcome

  /// The receiver of the outcome.
  enum Receiver {
    /// The task that called `run`.
    case caller(UnsafeContinuation<Outcome, Never>)
    /// The promise of `enqueue`.
    case promise(Core)
  }

  private let operation: Operation
  /// The priority of the task that adds the step, which is that of the work.
  private let priority = Task.currentPriority

  // Not parts of one structure: an access to a part of it is one to the whole. Unchecked because of
  // the lock: no user code runs while it is held.
  private var receiver: Receiver?
  /// What the work has returned.
  private var result: Outcome?

  /// What follows from the outcome of the promise.
  ///
  /// Used by the thread that ends the step.
  private var effects = Settlement.Effects()

  init(
    _ lock: Locked<SerialOrder>, name: String?, _ isolation: (any Actor)?, _ receiver: Receiver?,
    _ operation: @escaping Operation
  ) {
    self.operation = operation
    self.receiver = receiver
    super.init(lock, name: name, isolation: isolation)
  }

  /// Runs the work of `run`, on this thread if its turn has begun.
  ///
  /// - Parameters:
  ///   - hasTurn: Whether the turn has begun.
  ///   - startsHere: Whether the work may begin on this thread.
  ///   - continuation: Resumed once, when the step has ended.
  func run(hasTurn: Bool, startsHere: Bool, _ continuation: UnsafeContinuation<Outcome, Never>) {
    // Read here, where a raise that comes later is not lost.
    let current = Task.currentPriority
    let over = lock.transition { order -> Outcome? in
      // Not after the end, which reads it without the lock.
      guard let outcome else {
        receiver = .caller(continuation)
        order.wait(for: self, at: current.rawValue)
        return nil
      }
      return self.outcome(outcome)
    }
    if let over { continuation.resume(returning: over) }
    raise(to: current)
    // Also then: the turn of a step that has timed out has not ended.
    start(hasTurn: hasTurn, startsHere: startsHere, in: RunningStep.running(.current))
  }

  /// Makes the task of the work.
  ///
  /// - Parameters:
  ///   - hasTurn: Whether the turn has begun.
  ///   - startsHere: Whether the work may begin on this thread.
  ///   - outer: The steps that wait for this one.
  func start(hasTurn: Bool, startsHere: Bool, in outer: RunningStep?) {
    let mark = RunningStep(lock: lock, id: id, outer: outer)
    // The task inherits the mark. In the task, it would take an asynchronous function and its
    // changes of executors.
    RunningStep.local.withValue(RunningStep.Mark(mark)) {
      // Given, because a task inherits its creator's without an escalation.
      if startsHere || !hasTurn {
        Task.startingHere(priority, inContext: true) { await self.work(hasTurn: hasTurn) }
      } else {
        Task(priority: priority) { await self.work(hasTurn: hasTurn) }
      }
    }
  }

  // A task that waits for the work, also while its step waits, and also through a promise.
  override func escalate(to priority: TaskPriority) {
    lock.transition { $0.wait(for: self, at: priority.rawValue) }
    raise(to: priority)
  }

  override func raise(to priority: TaskPriority) {
    if priority > self.priority { super.raise(to: priority) }
  }

  nonisolated(nonsending) private func work(hasTurn: Bool) async {
    if !hasTurn, !(await withUnsafeContinuation { wait($0) }) { return }
    await work {
      await begin(on: isolation)
    } then: { outcome in
      let error: (any Error)? = if case .failure(let error) = outcome { error } else { nil }
      // What follows is no part of the step. Late only if a time limit or a grace period ended the
      // step, which canceled this task: not a misuse.
      RunningStep.local.withValue(RunningStep.Mark(nil)) {
        lock.endTurn(id, error) { result = outcome }
      }
    }
  }

  /// Runs the work on its actor, unless it was canceled or has timed out on the way.
  private func begin(on isolation: isolated (any Actor)?) async -> Outcome {
    begin() ? await operation() : .failure(CancellationError())
  }

  override var isWork: Bool { true }
  override var endsItself: Bool { false }

  override func cancelWork() { cancelTask() }

  // Under the lock of the step, so that both have the same progress.
  override func progressed(to fraction: Double) -> (() -> Void)? {
    guard case .promise(let core) = receiver else { return nil }
    let effects = core.withLock { $0.rise(to: fraction) }
    return { core.carryOut(effects) }
  }

  // The promise together with the step. Otherwise the manager could be idle, or a step that awaits
  // the promise take its turn, while the promise still looks as if it waited for this step.
  override func settle(_ outcome: StepOutcome) {
    guard case .promise(let core) = receiver else { return }
    core.record(self.outcome(outcome), by: .adopted, &effects)
  }

  override func ended(_ outcome: StepOutcome) {
    super.ended(outcome)
    switch receiver {
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
    // Also if the canceled work ended with an error of its own.
    case .cancelled: .failure(gaveUp ?? CancellationError())
    // Stored before the call of `then` that ended the step.
    case .succeeded: result ?? .failure(CancellationError())
    }
  }
}

extension Task where Failure == Never, Success == Void {
  /// Starts a task on the calling thread if the system supports it, so that tasks start in order of
  /// the calls.
  ///
  /// - Parameters:
  ///   - priority: Its priority.
  ///   - inContext: Whether it belongs to the code of the calling task, with its task-local values.
  ///   - operation: Its work.
  /// - Returns: The task.
  @discardableResult
  static func startingHere(
    _ priority: TaskPriority? = nil, inContext: Bool = false,
    _ operation: @escaping @isolated(any) @Sendable () async -> Void
  ) -> Self {
    #if !OLDEST_SYSTEMS
      if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
        return inContext
          ? Task.immediate(priority: priority, operation: operation)
          : Task.immediateDetached(priority: priority, operation: operation)
      }
    #endif
    return inContext
      ? Task(priority: priority, operation: operation)
      : Task.detached(priority: priority, operation: operation)
  }
}
