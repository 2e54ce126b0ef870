// Where a promise and a manager meet: a turn is kept, a cancellation is the same on both sides, and a
// step is over when the work of its promise is.

import Synchronization

/// Whether a promise has ever waited for its turn: most programs that block on long chains have none, and
/// need not look for it.
private let hasReservations = Atomic(false)

extension RunningStep {
  /// The steps that this is done for; nil if there is none.
  static func of(_ scopes: [WorkScope]) -> RunningStep? {
    scopes.reduce(nil) { $1.runningStep(in: $0) }
  }
}

extension Core {
  /// Whether any promise has ever been a step.
  @inline(__always)
  var hasSteps: Bool { hasReservations.load(ordering: .relaxed) }

  /// The steps that this promise works for, which include its handler; nil if there is none.
  var currentStep: RunningStep? {
    guard hasSteps else { return nil }
    return RunningStep.of(withLock { $0.scopes })
  }
}

extension PromiseManager {
  /// Adds a promise as a step.
  ///
  /// - Parameters:
  ///   - promise: The promise. If its work has not begun, it begins when the turn comes.
  ///   - handler: What the step does, which begins the promise.
  ///   - name: What the step is called.
  ///   - position: Where it goes in the queue.
  ///   - reportsRefusal: Whether a refusal is reported: the adder may not look at the handle.
  /// - Returns: The step's handle.
  func add(
    _ promise: AnyPromise, _ handler: @escaping Promisable.Handler, name: String?,
    at position: StepPlace = .last, reportsRefusal: Bool = true
  ) -> StepHandle {
    let record = StepRecord(order, name: name)
    var work: Work? = Work(call: handler)
    let admission = enter(promise, record) { order, _ in
      order.add(&work, record, at: position, lock: self.order, owner: self)
    }
    if case .refused(let error) = admission, !reportsRefusal {
      return StepHandle(StepRecord(order, name: name, refused: error), id: 0)
    }
    return accept(admission, name: name)
  }

  /// Enters a promise as a step: from now on it waits for the step's turn, and is canceled with it.
  ///
  /// - Parameters:
  ///   - promise: The promise. A refusal leaves it as it was.
  ///   - record: The record of the step.
  ///   - enter: Enters the step, under the lock.
  /// - Returns: What `enter` returned.
  func enter(
    _ promise: AnyPromise, _ record: StepRecord,
    _ enter: (inout SerialOrder, inout Consequences?) -> SerialOrder.Admission
  ) -> SerialOrder.Admission {
    let place = Reservation(order)
    hasReservations.store(true, ordering: .relaxed)
    // Listed first: a promise that is canceled from now on finds the step, if it is there.
    promise.core.attach(place)
    record.whenCancelled = { promise.core.leaveQueue(place) }
    // A step may end before it begins its promise: during a delay, for instance.
    record.observers = [
      { _ in
        if promise.core.withLock({ !$0.isDemanded && $0.phase == .pending }) {
          promise.core.leaveQueue(place)
        }
      }
    ]
    let admission = order.transition { order, consequences in
      let admission = enter(&order, &consequences)
      if case .entered(let record, let id, _) = admission { place.enter(record, id) }
      return admission
    }
    if case .entered(let record, let id, _) = admission {
      promise.core.reserve(for: order)
      // Canceled before the step had a place, it found none.
      if promise.core.withLock({ $0.isCancellation }) {
        StepHandle(record, id: id).cancel()
      }
    } else {
      _ = promise.core.withdraw(place, cancelling: false)
    }
    return admission
  }

  /// Runs asynchronous work when its turn has come, and promises its value.
  ///
  /// The way to ``run(_:at:_:)`` from synchronous code: the work has its turn from now on, and runs in a
  /// task of its own, whether the value is wanted or not. Canceling the promise cancels the step: if
  /// it still waits it will never run, if it runs its task is canceled. The work sees the caller's
  /// task-local values only if its turn comes at once: hand it what it needs.
  ///
  /// ```swift
  /// manager.enqueue("save") { try await save(draft) }
  /// let page = manager.enqueue { try await load(url) }
  /// show(try await page.value)  // when the draft has been saved
  /// ```
  ///
  /// - Parameters:
  ///   - name: What the step and the promise are called in events, errors and diagnostics.
  ///   - place: Where the step goes in the queue.
  ///   - file: Where the promise is made, for diagnostics.
  ///   - line: Where the promise is made, for diagnostics.
  ///   - operation: The work.
  /// - Returns: A promise of what the work returns. It fails with what the work threw; with a
  ///   `CancellationError` if the step was canceled; with ``PromiseError/closed`` or
  ///   ``PromiseError/full(capacity:)`` if it was refused; with ``PromiseError/timedOut(_:)`` if its time
  ///   was over. An unhandled failure is reported as
  ///   ``Diagnostic/unhandledFailure(_:_:)``.
  @discardableResult
  public func enqueue<Value: Sendable>(
    _ name: String? = nil, at place: StepPlace = .last,
    file: StaticString = #fileID, line: UInt = #line,
    _ operation: @escaping @isolated(any) @Sendable () async throws -> Value
  ) -> Promise<Value> {
    let promise = Promise(name, diagnostics: diagnostics, file: file, line: line, operation)
    let result = Core(origin: promise.core.origin)
    add(promise, name: name, at: place, into: result)
    return Promise(hot: result)
  }

  /// Adds a promise as a step for a caller that gets a promise, and so learns what became of the step.
  ///
  /// - Parameters:
  ///   - promise: The promise.
  ///   - name: What the step is called.
  ///   - place: Where it goes in the queue.
  ///   - result: Is settled with what the promise comes to, or with why its step did not run, or was ended.
  func add<Value>(
    _ promise: Promise<Value>, name: String?, at place: StepPlace = .last, into result: Core
  ) {
    // Listens without demanding, which is for the manager to do. Hung on the promise, so that a cycle is
    // found.
    let value = StepValue(result)
    result.depend(on: Upstream(promise.core, value))
    promise.core.attach(value)
    let handle = add(
      promise.erased, promise.handler, name: name, at: place, reportsRefusal: false)
    result.onCancel { handle.cancel() }
    handle.observe { outcome in
      do { try outcome.get() } catch { result.settle(.failure(error), by: .adopted) }
    }
  }
}

/// Passes on what the promise of a step comes to.
private final class StepValue: Reaction, @unchecked Sendable {
  // Sendable as its superclass is: it adds a constant only.
  private let result: Core

  init(_ result: Core) {
    self.result = result
  }

  // Before the step ends, which may cancel others, and in the same turn: on two threads, the one that was
  // cancelled could be heard of before the one that failed.
  override var isImmediate: Bool { false }
  override var target: Core? { result }

  override func react(to source: Core, _ agenda: inout Agenda) {
    // Left to the end of the step, which knows why: a step whose time is over cancels its promise first.
    if source.withLock({ $0.isCancellation }) { return }
    let outcome = source.settledOutcome
    let reached = if case .failure = outcome { source.progress } else { 1.0 }
    result.settle(outcome, by: .adopted, reached: reached, &agenda)
  }

  override func progressed(_ fraction: Double, _ front: inout ProgressFront) {
    front.rise(result, to: fraction)
  }
}

extension Promise {
  /// Starts the promise, and ends the step when it is settled and its work has ended.
  ///
  /// The promise's progress is the step's. Canceling the step cancels the promise, if it can be.
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
  /// Does what a step of a manager does whose turn has come.
  fileprivate func work(for then: Then) {
    // Held until the end of this call: a task that has settled its promise may have more to do.
    let work = StepWork(then)
    withExtendedLifetime(work) {
      then.onCancel { self.cancel() }
      // Also if it is hot: its work is not called off beside the next step.
      withLock { $0.join([work]) }
      attach(StepEnd(work))
      watch()
      demand(in: [work])
    }
  }

  /// Has the promise begin in the manager's turn, unless it has begun.
  fileprivate func reserve(for turn: Locked<SerialOrder>) {
    guard withLock({ $0.reserve(for: turn) }) else { return }
    // The source may be settled before the turn: the handler waits as well.
    (self as? Link)?.mayBeReserved.store(true, ordering: .releasing)
  }

  /// The step was canceled while it waited: the work never begins.
  fileprivate func leaveQueue(_ place: Reservation) {
    cancel()
    _ = withdraw(place, cancelling: false)
  }

  /// The step of the caller that has to end before this promise, or one that it waits for, can begin.
  ///
  /// Takes time in proportion to the links between the promise and those that are at work.
  ///
  /// - Parameter runningStep: The step of a manager, if it runs, in which the caller is.
  /// - Returns: That step; nil if there is none.
  func deadlock(_ runningStep: (Locked<SerialOrder>) -> StepIdentity?) -> StepIdentity? {
    guard hasReservations.load(ordering: .relaxed) else { return nil }
    var seen: Set<ObjectIdentifier> = []
    var frontier = [self]
    while let core = frontier.popLast() {
      guard seen.insert(ObjectIdentifier(core)).inserted else { continue }
      let (turns, upstream) = core.withLock { ($0.turns, $0.upstream) }
      // It begins when the first of its turns comes.
      let steps = turns.compactMap(runningStep)
      if let step = steps.first, steps.count == turns.count { return step }
      upstream?.sources(of: core).forEach { source, reaction in
        if reaction.isExclusive { frontier.append(source) }
      }
    }
    return nil
  }
}

/// The place of a promise's step in a manager's queue.
///
/// Waits in the promise's list: when the promise is canceled, so is the step.
private final class Reservation: Reaction, @unchecked Sendable {
  // Sendable as its superclass is; `place` is touched only under the lock of the order.
  private let lock: Locked<SerialOrder>
  private var place: (record: StepRecord, id: Int)?

  init(_ lock: Locked<SerialOrder>) {
    self.lock = lock
  }

  /// The step has a place; only under the lock of the order.
  func enter(_ record: StepRecord, _ id: Int) {
    place = (record, id)
  }

  override func react(to source: Core, _ agenda: inout Agenda) {
    guard source.withLock({ $0.isCancellation }) else { return }
    lock.transition { order, consequences in
      if let place { _ = order.cancel(place.id, place.record, &consequences) }
    }
  }
}

/// What a promise is at work for as a step; the step is over when all of that work has ended.
private final class StepWork: WorkScope, @unchecked Sendable {
  // Sendable because `ending` is touched only under one of the shared locks.
  private enum Ending {
    case succeeded, failed(any Error), cancelled
  }

  private let then: Then
  private var ending: Ending?

  init(_ then: Then) {
    self.then = then
    let lock = then.token.lock
    super.init(turn: lock.withLock { $0.hostTurn } ?? lock)
  }

  deinit {
    let manager: (any StepRunner)?
    switch withLock({ ending }) {
    // The promise went away unsettled: the step has dropped its `then`.
    case nil: return
    case .succeeded: manager = then.token.callLocked(nil)
    case .failed(let error): manager = then.token.callLocked(error)
    case .cancelled:
      // Late if a time limit or a grace period ended the step, which canceled the promise: no misuse.
      manager = then.token.callLocked(
        CancellationError(), isCancellation: true, reportsLate: false)
    }
    guard let manager else { return }
    // After the turn, and not inside it: what the next step settles, and the rest that waits at this
    // promise, would come after that step, and it would wait for that without end. Elsewhere, if the
    // work ended on a thread that is doing something else, which may hold locks or belong to a task.
    if let turn = Trampoline.current, turn.runningReaction is StepEnd, turn.manager == nil,
      manager.runsOnThisThread
    {
      turn.manager = manager
    } else {
      manager.continueElsewhere()
    }
  }

  private func withLock<Result>(_ body: () -> Result) -> Result {
    SharedLocks.lock(for: self)._withUnsafeGuaranteedRef { lock in lock.withLock { _ in body() } }
  }

  /// The promise is settled.
  func settled(_ source: Core) {
    let isCancellation = source.withLock { $0.isCancellation }
    let ending: Ending =
      switch source.settledOutcome {
      case .value: .succeeded
      case .failure where isCancellation: .cancelled
      case .failure(let error): .failed(error)
      }
    withLock { self.ending = ending }
  }

  func advance(to fraction: Double) {
    then.advance(to: fraction)
  }

  override func runningStep(in outer: RunningStep?) -> RunningStep? {
    then.runningStep(in: outer)
  }
}

/// Notes how a step ends when its promise is settled.
private final class StepEnd: Reaction, @unchecked Sendable {
  // Sendable as its superclass is; `work` is touched only under one of the shared locks, because
  // progress may be passed on while this runs.
  private var work: StepWork?

  init(_ work: StepWork) {
    self.work = work
  }

  // After the handlers that were attached before.
  override var isImmediate: Bool { false }

  override func react(to source: Core, _ agenda: inout Agenda) {
    // Given up here, where the turn knows that no code of the user is on the stack.
    guard let work = withLock({ work.take() }) else { return }
    work.settled(source)
  }

  override func progressed(_ fraction: Double, _ front: inout ProgressFront) {
    // Two threads may pass on what two promises reported, in any order.
    withLock { work }?.advance(to: fraction)
  }

  private func withLock<Result>(_ body: () -> Result) -> Result {
    SharedLocks.lock(for: self)._withUnsafeGuaranteedRef { lock in lock.withLock { _ in body() } }
  }
}
