/// A step that is code in a task: the task waits for its turn, and ends it.
///
/// The record of its step, so that a waiting caller needs no closure, handler or `then`.
class Caller: StepRecord, CancellableWork, @unchecked Sendable {
  // Sendable as its superclass: mutable state is accessed only under the lock.

  /// The number of the step; 0 before its addition.
  private(set) var id = 0

  /// The continuation of the waiting task: true when the turn begins, false when the step was
  /// canceled before.
  private var waiter: UnsafeContinuation<Bool, Never>?

  /// Whether the turn has begun, and whether the code has.
  private var (hasTurn, hasBegun) = (false, false)

  /// The task of a turn, from its addition to its end, or of the work of `run` or `enqueue`, while
  /// it runs.
  private var task = CancellableTask()

  /// Creates the record of a turn that began at once, in a task that has not ended.
  convenience init(_ lock: Locked<SerialOrder>, atOnce id: Int, _ task: UnownedTask) {
    self.init(lock)
    (self.id, hasTurn, hasBegun) = (id, true, true)
    self.task.task = task.unsafeTask
  }

  /// Why the caller has given up waiting, if it has.
  private(set) var gaveUp: PromiseError?

  override var isYetToBegin: Bool { hasTurn && !hasBegun }
  override var isWork: Bool { waiter != nil }
  override var receivesFailures: Bool { true }
  override var endsItself: Bool { true }

  /// Adds the step.
  ///
  /// - Parameters:
  ///   - manager: Runs the steps of the order.
  ///   - place: The place of the step in the queue.
  ///   - time: The time since the creation of a manager with a rate, if it has been read.
  ///   - mayEnter: Whether to add the step at all.
  /// - Returns: Whether its turn has begun.
  /// - Throws: Why the step was refused.
  func enter(
    _ manager: any StepRunner, at place: StepPlace = .last, now time: Duration? = nil,
    if mayEnter: (borrowing SerialOrder) -> Bool = { _ in true }
  ) throws(PromiseError) -> Bool {
    var turn = SerialOrder.Turn()
    // Of a turn, until it ends.
    let own = endsItself ? UnownedTask.current : nil
    let result = lock.transition { order -> Result<Bool, PromiseError> in
      guard mayEnter(order) else { return .success(false) }
      var work: Work?
      switch order.add(&work, self, at: place, lock: lock, owner: manager) {
      case .refused(let error): return .failure(error)
      case .entered(_, let id, let claims):
        self.id = id
        task.task = own?.unsafeTask
        // Under the same lock: on an idle manager, the task does not wait.
        // What the addition caused only wakes listeners, so it need not come first.
        if claims {
          turn = order.next(.none, on: ThreadIdentity(), at: time)
          // Otherwise a step that begins at once would seem to wait.
          while case .again = turn.move {
            if let released = turn.object { order.line.effects.release(released) }
            turn = order.next(.none, on: ThreadIdentity(), at: time)
          }
          // The code of a turn follows in this task, without a suspension.
          hasBegun = hasTurn && endsItself
        }
        return .success(hasTurn)
      }
    }
    var token: Token?
    manager.continueTurn(&turn, &token, .none)
    return try result.get()
  }

  /// Resumes the continuation when the turn begins, with true, or when the step has ended before.
  ///
  /// - Parameters:
  ///   - continuation: The continuation of a task.
  ///   - priority: The priority with which that waits; 0 if others wait for it.
  func wait(_ continuation: UnsafeContinuation<Bool, Never>, at priority: UInt8 = 0) {
    let known = lock.transition { order -> Bool? in
      // Before the outcome: a step that has begun may have timed out, and still ends its turn.
      if hasTurn { return true }
      if outcome != nil { return false }
      waiter = continuation
      order.wait(for: self, at: priority)
      return nil
    }
    if let known { continuation.resume(returning: known) }
  }

  /// Records that the priority of a task that waits for the turn was raised.
  func escalate(to priority: TaskPriority) {
    lock.transition { if !hasTurn { $0.wait(for: self, at: priority.rawValue) } }
  }

  override func raise(to priority: TaskPriority) { raiseTask(to: priority) }

  final func withTask<Result>(_ body: (inout CancellableTask) -> Result) -> Result {
    lock.withLock { _ in body(&task) }
  }

  override func takeWaiter() -> UnsafeContinuation<Bool, Never>? {
    hasTurn = true
    return waiter.take()
  }

  /// Begins the code, on its actor, after the turn has begun.
  ///
  /// The actor may have been busy. If the step is over by then, the next one may run already.
  ///
  /// - Returns: Whether the code may begin; otherwise the turn ends, unless it has.
  func begin() -> Bool {
    lock.withLock { _ in
      hasBegun = outcome == nil
      return hasBegun
    }
  }

  override func ended(_ outcome: StepOutcome) {
    // After the outcome, nothing else uses the continuation.
    waiter.take()?.resume(returning: false)
  }

  /// Cancels the step if its turn has not begun, because its caller has waited long enough.
  func giveUp(after limit: Duration) {
    lock.transition { order in
      // A turn that was granted is not withdrawn, even if its actor is busy.
      guard segmentOfWaiting(id) != nil else { return }
      gaveUp = .stillWaiting(limit, for: order.runningStep)
      order.cancel(id, self)
    }
  }

  /// Cancels the step after its task was canceled.
  func cancel() { lock.transition { $0.cancel(id, self) } }
}

extension Locked where State == SerialOrder {
  /// Ends a step that is code in a task, and begins the next turn.
  ///
  /// - Parameters:
  ///   - id: The number of the step.
  ///   - error: The error of the code; nil if it succeeded.
  ///   - isCancellation: Whether the code ends because its task was canceled.
  ///   - manager: The manager, if the task retains it.
  ///   - store: Stores what the end needs, under the lock.
  func endTurn(
    _ id: Int, _ error: (any Error)? = nil, isCancellation: Bool = false,
    of manager: (any StepRunner)? = nil, store: () -> Void = {}
  ) {
    var turn = SerialOrder.Turn()
    let manager = transition { order -> (any StepRunner)? in
      store()
      if let manager { order.retention.retain(manager) }
      if isCancellation { order.workCancelled(id) }
      guard case .claimed(let manager) = order.then(id: id, error: error) else {
        return nil
      }
      turn = order.nextInTask()
      return manager
    }
    var token: Token?
    manager?.continueTurn(&turn, &token, .none)
  }
}
