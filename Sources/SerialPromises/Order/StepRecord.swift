/// The state that only some steps need: named, observed and parked ones, and those with a retained
/// handle.
///
/// A handle retains the record and not the segment. The outcome of a step and its error therefore
/// exist while a handle of this step exists, and are released with the last handle.
class StepRecord: @unchecked Sendable {
  // Sendable because mutable state is accessed only under `lock`, and later by `deinit`, which has
  // the only reference. A subclass documents its own.

  /// The lock that protects this record.
  ///
  /// It lives as long as a handle, longer than the manager.
  let lock: Locked<SerialOrder>

  let name: String?

  /// The actor of the work; nil if it belongs to none, or runs on its actor anyway.
  let isolation: (any Actor)?

  // Unchecked because of the lock: no user code runs while it is held.

  /// The segment with the step's slot; nil after the record is closed.
  @exclusivity(unchecked) var segment: Segment?

  /// The outcome of the step.
  ///
  /// Nil also for a plain step that succeeded, until the next step is added; its slot has the
  /// outcome.
  @exclusivity(unchecked) private(set) var outcome: StepOutcome?

  @exclusivity(unchecked) var observers: [@Sendable (StepOutcome) -> Void] = []

  /// The highest priority of the tasks that wait for the step; 0 if none waits.
  ///
  /// Counted by the order, until it is 0 again.
  @exclusivity(unchecked) final var waitingPriority: UInt8 = 0

  /// The failure of the step, until something receives it.
  @exclusivity(unchecked) var unreceived: UnreceivedFailure?

  /// Only a refused step has an outcome from the start.
  init(
    _ lock: Locked<SerialOrder>, name: String? = nil, isolation: (any Actor)? = nil,
    outcome: StepOutcome? = nil
  ) {
    self.lock = lock
    self.name = name
    self.isolation = isolation
    self.outcome = outcome
  }

  /// Adds the step.
  ///
  /// - Parameter enter: Adds it with this record, under the lock.
  /// - Returns: The result of `enter`.
  final func enter(
    _ enter: (StepRecord, inout SerialOrder) -> SerialOrder.Admission
  ) -> SerialOrder.Admission {
    let admission = lock.transition { order in
      let admission = enter(self, &order)
      entered(admission)
      return admission
    }
    hasEntered(admission)
    return admission
  }

  /// Called under the lock when the step was added or refused.
  func entered(_ admission: SerialOrder.Admission) {}

  /// Called next, without the lock.
  func hasEntered(_ admission: SerialOrder.Admission) {}

  /// Whether this needs the following calls: it is the work of the step, or reserves a promise for
  /// it.
  var isWork: Bool { false }

  /// Whether the work of a waiting step that is canceled is canceled before the step is over.
  var leavesFirst: Bool { false }

  /// Whether this passes a failure on to code that handles or reports it.
  var receivesFailures: Bool { false }

  /// Whether the work needs the main queue.
  ///
  /// Call it without the lock.
  var needsMainQueue: Bool { MainQueue.is(isolation) }

  /// Whether only the step's own code ends it, when it runs.
  var endsItself: Bool { false }

  /// Whether the turn was given to a task that has not begun the code, because its actor may be
  /// busy.
  ///
  /// Requires the lock.
  var isYetToBegin: Bool { false }

  /// Takes the continuation of the task that is the step, if the task waits already.
  ///
  /// Requires the lock.
  func takeWaiter() -> UnsafeContinuation<Bool, Never>? { nil }

  /// Called under the lock when the running step has progressed.
  ///
  /// - Returns: What follows without the lock.
  func progressed(to fraction: Double) -> (() -> Void)? { nil }

  /// Called once, under the lock, when the step gets its outcome.
  func settle(_ outcome: StepOutcome) {}

  /// Called once, without the lock, when the step has its outcome, or is about to leave the queue.
  ///
  /// By the thread of `settle`.
  func ended(_ outcome: StepOutcome) {}

  /// Raises the priority of the running step's work, for tasks that wait for its end.
  ///
  /// Call it without the lock. A handler has no task.
  func raise(to priority: TaskPriority) {}

  /// Called without the lock when the running step is requested to stop.
  func cancelWork() {}

  /// Marks the failure of the step as received.
  ///
  /// Call it without the lock.
  func receiveFailure() {
    let failure = lock.withLock { _ in unreceived.take() }
    failure?.isReceived = true
  }

  /// Stores the outcome of the step.
  func close(_ outcome: StepOutcome) {
    self.outcome = outcome
    segment = nil
  }

  /// The segment of step `id`, which has this record, if it waits.
  func segmentOfWaiting(_ id: Int) -> Segment? {
    segment?.slot(id).pointee.stage == .waiting ? segment : nil
  }

  /// The state of step `id`, which has this record.
  func state(of id: Int) -> StepHandle.State {
    if let outcome { return .over(outcome) }
    switch segment?.slot(id).pointee.stage {
    case .waiting, .leaving: return .waiting
    case .running: return .running
    // Other outcomes close the record.
    case .over, .moved, nil: return .over(.succeeded)
    }
  }
}

/// The failure of a step; reported when it is released, unless something has received it.
final class UnreceivedFailure {
  private let step: StepIdentity
  private let error: any Error
  private let reporter: DiagnosticHandler

  /// Set by the thread that has taken it from its record.
  var isReceived = false

  init(_ step: StepIdentity, _ error: any Error, _ reporter: DiagnosticHandler) {
    self.step = step
    self.error = error
    self.reporter = reporter
  }

  deinit {
    if !isReceived { reporter.report(.unhandledStepFailure(step, error)) }
  }
}
