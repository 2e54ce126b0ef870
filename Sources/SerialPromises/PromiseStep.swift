// A promise as a step.
//
// 1. Added: its `PromiseStepRecord` attaches a `Reservation` to the promise, by which canceling the
//    promise cancels the step, and reserves the promise for the turn: no other demand starts it
//    before.
// 2. In its turn: `work(for:)` makes a `WorkScope`, attaches a `StepEnd`, and demands the promise.
//    Each that works for the scope retains it until it is settled and its producer has ended; so
//    does this call.
// 3. Settled: the `StepEnd`, after the handlers that were attached before it, stores the outcome in
//    the scope.
// 4. Ended: the last reference to the scope is released, wherever that is. Its `deinit` calls
//    `then` with the outcome, and leaves the next step to the thread's `Trampoline`, or to another
//    thread.
// 5. `ended` of the record: a step that was canceled, or ended before it started its promise,
//    cancels the promise.

/// Whether any promise has ever been a step.
///
/// Most programs have none, and skip the search for reservations in each wait and link.
private let hasReservations = Atomic(false)

/// Whether `enqueue` was ever called: only a step of its promises can wait for a later step.
private let hasEnqueued = Atomic(false)

extension RunningStep {
  /// The steps of these scopes; nil if there is none.
  static func of(_ scopes: [WorkScope]) -> RunningStep? {
    scopes.reduce(nil) { RunningStep(callbackOf: $1.turn, id: $1.then.token.id, outer: $0) }
  }
}

extension Core {
  /// Whether a promise may have been a step.
  ///
  /// Always, if all links would have to take one lock to ask.
  @inline(__always)
  var hasSteps: Bool { atomicsAreLocks || hasReservations.load(ordering: .relaxed) }

  /// The steps that this promise works for, which include its handler; nil if there is none.
  var currentStep: RunningStep? {
    guard hasSteps else { return nil }
    return RunningStep.of(withLock { $0.scopes })
  }
}

extension PromiseManager {
  /// Runs asynchronous work as a step, and returns a promise of its value.
  ///
  /// The counterpart of ``run(_:at:waitingAtMost:_:)`` for synchronous code. The work has its place
  /// in the queue from now on, and runs in its own task, even if its value is never demanded.
  /// Canceling the promise cancels the step: a waiting step will not run, and a running step's task
  /// is canceled. The promise is settled together with the step: when the manager is idle, it has
  /// its outcome. Only if it is canceled itself while the work runs does it fail before,
  /// immediately; the step ends when the work has ended (<doc:Cancellation#Steps>). The work has
  /// the task-local values of the calling code, and its priority, or that of tasks that wait for it
  /// (<doc:LifeOfAStep#Priorities>). The promise has the progress that the work reports with
  /// ``reportProgress(_:)``.
  ///
  /// ```swift
  /// manager.enqueue("save") { try await save(draft) }
  /// let page = manager.enqueue { try await load(url) }
  /// show(try await page.value)  // when the draft has been saved
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of the step and the promise in events, errors and diagnostics.
  ///   - place: The place in the queue.
  ///   - file: The source location, for diagnostics.
  ///   - line: The source location, for diagnostics.
  ///   - operation: The work.
  /// - Returns: A promise of the result of the work. It fails with the error of the work; with a
  ///   `CancellationError` if the step was canceled, whatever error the work throws; with
  ///   ``PromiseError/closed`` or ``PromiseError/full(capacity:)`` if it was refused; with
  ///   ``PromiseError/timedOut(_:)`` if it timed out. An unhandled failure is reported as
  ///   ``Diagnostic/unhandledFailure(_:_:)``.
  @discardableResult
  public func enqueue<Value: Sendable>(
    _ name: String? = nil, at place: StepPlace = .last,
    file: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext
    _ operation: @escaping @isolated(any) @Sendable () async throws -> Value
  ) -> Promise<Value> {
    let traits = Core.Traits(
      origin: Origin(name, file, line, diagnostics),
      runsOnMainQueue: MainQueue.is(operation.isolation))
    // Its work may continue after its cancellation.
    let result = Core(traits, isDemanded: true, hasProducer: true)
    hasReservations.store(true, ordering: .relaxed)
    hasEnqueued.store(true, ordering: .relaxed)
    // A step of this manager that awaits the promise would wait for its own end.
    result.withLock { $0.wait(for: order) }
    let call = AsyncCall(order, name: name, operation.isolation, .promise(result)) {
      do { return .value(try await operation()) } catch { return .failure(error) }
    }
    do {
      // Not on the thread of synchronous code.
      call.start(hasTurn: try call.enter(self, at: place), startsHere: false, in: nil)
    } catch {
      result.settle(.failure(error), by: .adopted)
    }
    result.onCancel { call.cancel() }
    _ = result.withLock { $0.work(in: call) }
    return Promise(hot: result)
  }

  /// Runs an existing function as a step, and returns a promise of its value.
  ///
  /// Behaves as ``enqueue(_:at:file:line:_:)``, at the end of the queue.
  ///
  /// ```swift
  /// let user = manager.enqueue(fetchUser)
  /// ```
  ///
  /// - Parameters:
  ///   - operation: The work.
  ///   - file: The source location, for diagnostics.
  ///   - line: The source location, for diagnostics.
  /// - Returns: A promise of the result of the work.
  @_disfavoredOverload
  @discardableResult
  public func enqueue<Value: Sendable>(
    @_inheritActorContext
    _ operation: @escaping @isolated(any) @Sendable () async throws -> Value,
    file: StaticString = #fileID, line: UInt = #line
  ) -> Promise<Value> {
    enqueue(nil, file: file, line: line, operation)
  }

  /// Adds a promise as a step for a caller that learns the outcome of the step from another
  /// promise.
  ///
  /// - Parameters:
  ///   - promise: The promise.
  ///   - result: Receives the outcome of the promise, or the error of a step that did not run or
  ///     was ended.
  func add<Value>(_ promise: Promise<Value>, into result: Core) {
    // Observes without demanding, because the manager demands. The dependency allows the detection
    // of cycles.
    let value = StepValue(target: result, share: ProgressShare())
    // Under the lock: the result of `serially` is part of a combination already, which another
    // thread may settle, and so withdraw this, or read its progress.
    result.withLock { $0.depend(on: .adopted(promise.core, value)) }
    promise.core.attach(value)
    let handle = insert(Step(promise), reportsRefusal: false)
    result.onCancel { handle.cancel() }
    handle.observe { outcome in
      do {
        try outcome.get()
      } catch {
        result.updateProgress()
        result.settle(.failure(error), by: .adopted)
      }
    }
  }
}

/// Passes on the outcome of a step's promise.
private final class StepValue: Adoption {
  // Before the end of the step, which may cancel other steps, and in the same turn: on two threads,
  // the canceled step could be observed before the failed one.
  override var isImmediate: Bool { false }
  // The promise is not resolved with the other one: the step may fail it.
  override var role: Role { .other }

  override func react(to source: Core, _ agenda: inout Agenda) {
    // Left to the end of the step, which has the reason: a step that timed out cancels its promise
    // first.
    if !source.withLock({ $0.isCancellation }) { super.react(to: source, &agenda) }
  }
}

extension Promise {
  /// Starts the promise, and ends the step when the promise is settled and its work has ended.
  ///
  /// The progress of the promise is the step's until the step ends, and then has progress 1.
  /// Canceling the running step cancels the promise, if possible. If the handler is part of a
  /// ``Step`` that is canceled while it waits, the promise stays pending: add the promise itself.
  ///
  /// ```swift
  /// let page = Promise { try await load(url) }
  /// manager.add(page)  // starts in its turn
  /// ```
  public var handler: Handler {
    { [erased] then in erased.core.work(for: then) }
  }
}

extension Core {
  /// Performs the work of a step in its turn.
  fileprivate func work(for then: Then) {
    // Retained until the end of this call: a task that has settled its promise may still be
    // running.
    let work = WorkScope(then)
    let scopes: [WorkScope] = [work]
    withExtendedLifetime(work) {
      then.onCancel { self.cancel() }
      // Also for a hot promise, so that its canceled work does not overlap with the next step.
      withLock { $0.beginStepHandler(scopes) }
      let end = StepEnd(work)
      attach(end)
      withLock { $0.report(to: end.progressed) }
      watch()
      // What had been reported before.
      if case let reached = progress, reached > 0 { end.progressed(reached) }
      demand(in: scopes)
      // The promise waits for a later step of the same manager.
      if let step = deadlockedStep(in: scopes), withdraw(end, cancelling: false) {
        (then.token.lock.withLock { $0.diagnostics } ?? .shared).report(.deadlock(step))
        then(PromiseError.deadlock(step))
      }
      Agenda.run { agenda in
        withLock { $0.endStepHandler() }.forEach { agenda.append($0, of: self) }
      }
    }
  }

  /// The step of these scopes that must end before this promise can be settled; nil if there is
  /// none.
  func deadlockedStep(in scopes: [WorkScope]) -> StepIdentity? {
    guard hasEnqueued.load(ordering: .relaxed) else { return nil }
    return deadlock { turn in
      scopes.contains { $0.turn === turn } ? turn.withLock { $0.runningStep } : nil
    }
  }

  /// The caller's step that must end before this promise, or one of its dependencies, can start.
  ///
  /// Takes time proportional to the number of links between the promise and the running ones.
  ///
  /// - Parameter runningStep: Returns the running step of a manager that the caller belongs to, if
  ///   any.
  /// - Returns: That step; nil if there is no deadlock.
  func deadlock(_ runningStep: (Locked<SerialOrder>) -> StepIdentity?) -> StepIdentity? {
    guard hasReservations.load(ordering: .relaxed) else { return nil }
    var seen: Set<ObjectIdentifier> = []
    var frontier = [self]
    while let core = frontier.popLast() {
      guard seen.insert(ObjectIdentifier(core)).inserted else { continue }
      let (turns, upstream, phase) = core.withLock { ($0.turns, $0.upstream, $0.phase) }
      guard phase == .pending else { continue }
      // The promise starts in the first of its turns.
      let steps = turns.compactMap(runningStep)
      if let step = steps.first, steps.count == turns.count { return step }
      upstream?.sources(of: core).forEachNeeded(by: core) { frontier.append($0) }
    }
    return nil
  }
}

/// The record of a promise's step, which reserves the promise for its turn.
final class PromiseStepRecord: StepRecord, @unchecked Sendable {
  // Sendable as its superclass: mutable state is accessed only under the lock.

  /// The number of the step, when it has been added.
  private var id = 0
  /// Listed by the promise until the step has ended.
  private var place: Reservation?
  /// The promise until the end of the step and, if it fails, as long as this.
  private var promise: AnyPromise?

  /// Call it without the lock of the order.
  init(_ promise: AnyPromise, _ order: Locked<SerialOrder>, name: String?) {
    self.promise = promise
    super.init(order, name: name)
    hasReservations.store(true, ordering: .relaxed)
    let place = Reservation(self)
    self.place = place
    // Listed first: a cancellation of the promise from now on finds the step, if it has been added.
    promise.core.attach(place)
  }

  override func entered(_ admission: SerialOrder.Admission) {
    if case .entered(_, let id, _) = admission { self.id = id }
  }

  /// Reserves the promise for the step: it starts in the step's turn, and is canceled with the
  /// step.
  ///
  /// A refusal does not change the promise.
  override func hasEntered(_ admission: SerialOrder.Admission) {
    guard case .entered = admission, let core = lock.withLock({ _ in promise?.core }) else {
      return leave(cancelling: false)
    }
    // Not before: a refused promise does not change. If the step has begun, it has reserved the
    // promise itself.
    let priority = core.withLock { settlement in
      settlement.reserve(for: lock)
      return settlement.priority
    }
    // Awaited before it was added.
    if priority > 0 { escalate(to: TaskPriority(rawValue: priority)) }
    // If the promise was canceled before the step was added, the cancellation found no step.
    if core.withLock({ $0.isCancellation }) { cancelStep() }
  }

  /// Records that a task of this priority awaits the promise.
  fileprivate func escalate(to priority: TaskPriority) {
    lock.transition { $0.wait(for: self, at: priority.rawValue) }
  }

  override func raise(to priority: TaskPriority) {
    lock.withLock { _ in promise }?.core.escalate(to: priority)
  }

  fileprivate func cancelStep() {
    // Without a segment before the addition: nothing is canceled.
    lock.transition { $0.cancel(id, self) }
  }

  /// Ends the reservation.
  private func leave(cancelling: Bool) {
    let (place, promise) = lock.withLock { _ in (self.place.take(), self.promise) }
    // Canceled with a step that was canceled while it waited: the work never starts.
    if cancelling { promise?.core.cancel() }
    if let place { _ = promise?.core.withdraw(place, cancelling: false) }
  }

  override var isWork: Bool { true }
  override var leavesFirst: Bool { true }
  override var needsMainQueue: Bool {
    // The steps before its own answer for themselves.
    lock.withLock { _ in promise }?.core.deadlockReason(throughTurns: false) != nil
  }

  override func ended(_ outcome: StepOutcome) {
    if case .succeeded = outcome {
      // The promise has succeeded as well.
      let released = lock.withLock { _ in (place.take(), promise.take()) }
      return withExtendedLifetime(released) {}
    }
    guard let promise = lock.withLock({ _ in promise }) else { return }
    let isCancelled = if case .cancelled = outcome { true } else { false }
    // A step may also end before it starts its promise, for instance by a time limit.
    if isCancelled || promise.core.withLock({ !$0.isDemanded && $0.phase == .pending }) {
      leave(cancelling: true)
    }
    // Leaves the report of a failure to the promise, which may have handlers of its own.
    let isPassed = promise.core.withLock { $0.failure != nil && !$0.isCancellation }
    let isReceived = !isPassed || lock.withLock { _ in unreceived == nil }
    if isReceived { promise.core.withLock { $0.markFailureHandled() } }
    if isPassed { super.receiveFailure() }
    let released = lock.withLock { _ in (place.take(), isReceived ? self.promise.take() : nil) }
    withExtendedLifetime(released) {}
  }

  override func receiveFailure() {
    super.receiveFailure()
    let promise = lock.withLock { _ in self.promise }
    promise?.core.withLock { $0.markFailureHandled() }
  }
}

/// The place of a promise's step in a manager's queue.
///
/// Listed by the promise, so that canceling the promise cancels the step.
private final class Reservation: Reaction {
  private let record: PromiseStepRecord

  init(_ record: PromiseStepRecord) {
    self.record = record
  }

  override var handlesFailures: Bool { false }
  override var role: Role { .reservation }

  override func react(to source: Core, _ agenda: inout Agenda) {
    if source.withLock({ $0.isCancellation }) { record.cancelStep() }
  }

  override func escalateStep(to priority: TaskPriority) { record.escalate(to: priority) }
}

/// Records the end of a step when its promise is settled.
private final class StepEnd: Reaction {
  /// Accessed only under one of the shared locks, because progress may be propagated concurrently.
  private var work: WorkScope?

  init(_ work: WorkScope) {
    self.work = work
  }

  // Runs after the handlers that were attached before.
  override var isImmediate: Bool { false }
  override var role: Role { .stepEnd }
  // Left to the promise's own handlers and to the record of the step.
  override var handlesFailures: Bool { false }

  override func react(to source: Core, _ agenda: inout Agenda) {
    // Released here, where no user code is on the stack.
    SharedLocks.withLock(for: self) { work.take() }?.settled(source)
  }

  func progressed(_ fraction: Double) {
    // Two threads may propagate the progress of two promises in any order.
    guard let token = SharedLocks.withLock(for: self, { work })?.then.token else { return }
    token.lock.withLock { _ = $0.supervision(of: token.id)?.progress.report(fraction) }
  }
}
