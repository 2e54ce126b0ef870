import Synchronization

/// The continuation that a step calls when it is done, so that the next step can begin.
///
/// ```swift
/// manager.add { then in
///   upload(file) { error in then(error) }
/// }
/// ```
///
/// - It counts once. A second call changes nothing and is reported as a ``Diagnostic``.
/// - It may be called from any thread, at once or later, from inside the handler or after it.
/// - If its last reference goes away uncalled, the step fails with ``PromiseError/abandoned(_:)``
///   and the queue goes on.
///
/// All calls take constant time, beside the time of the steps that may run because of them.
public final class Then: @unchecked Sendable {
  // Sendable because `id` changes only in `reuse`, while a single reference exists.
  private let lock: Locked<SerialOrder>
  private(set) var id: Int
  private let stage = Atomic(Stage.onStack)

  /// Where the call of `then` is awaited: integers, because atomic enumerations are not inlined.
  private enum Stage {
    /// By the drain, which looks when the handler returns. → called, away
    static let onStack: UInt8 = 0
    /// By nobody: the handler has returned, and the call has to go on with the queue. → called
    static let away: UInt8 = 1
    /// No more.
    static let called: UInt8 = 2
  }

  init(lock: Locked<SerialOrder>, id: Int) {
    self.lock = lock
    self.id = id
  }

  deinit {
    guard stage.load(ordering: .acquiring) != Stage.called else { return }
    let id = id
    let result = lock.transition { order, consequences in
      order.abandon(id: id, &consequences)
    }
    // Elsewhere, because the thread that dropped `then` may hold locks of its own.
    if case .claimed(let manager?) = result { manager.continueElsewhere() }
  }

  /// Prepares the token for the next step; only when nobody else holds it.
  func reuse(for id: Int) {
    self.id = id
    stage.store(Stage.onStack, ordering: .relaxed)
  }

  /// The handler has returned: from now on a call goes on with the queue itself.
  ///
  /// - Returns: Whether `then` was called before.
  func handlerReturned() -> Bool {
    let (_, found) = stage.compareExchange(
      expected: Stage.onStack, desired: Stage.away, ordering: .acquiringAndReleasing)
    return found == Stage.called
  }

  /// Whether `then` was called.
  var wasCalled: Bool { stage.load(ordering: .acquiring) == Stage.called }

  /// Ends the step.
  ///
  /// If the handler has returned already, the steps that can run now run on the calling thread,
  /// or where the manager's `on:` says.
  ///
  /// - Parameter error: Why the step failed; nil if it succeeded.
  public func callAsFunction(_ error: (any Error)? = nil) {
    // Most steps succeed before their handler returns. The drain looks at the stage then, so no
    // lock is needed; releasing makes what this thread wrote visible to the next step.
    if error == nil,
      stage.compareExchange(
        expected: Stage.onStack, desired: Stage.called, ordering: .acquiringAndReleasing
      ).exchanged
    {
      return
    }
    call(error)
  }

  @inline(never)
  private func call(_ error: (any Error)?) {
    var isFirst = false
    let result = lock.transition { order, consequences in
      // Under the lock, so that the drain finds the error when it finds the call.
      isFirst = stage.exchange(Stage.called, ordering: .acquiringAndReleasing) != Stage.called
      return isFirst ? order.then(id: id, error: error, &consequences) : .late
    }
    switch result {
    case .counted, .claimed(nil):
      break
    case .claimed(let manager?):
      manager.startTurn()
    case .late:
      reportLate(isFirst: isFirst)
    }
  }

  private func reportLate(isFirst: Bool) {
    let (diagnostics, name) = lock.withLock { ($0.diagnostics, $0.name(of: id)) }
    let step = StepIdentity(id: id, name: name)
    (diagnostics ?? .shared).report(isFirst ? .thenCalledLate(step) : .thenCalledAgain(step))
  }

  /// Registers what to do when the step is cancelled while it runs.
  ///
  /// The step is still to be ended by calling `then`, for instance with a `CancellationError`.
  /// The handler is called once, on the thread that cancels; if the step has been cancelled
  /// already, now, on this thread. It is released when the step is over.
  ///
  /// A handler that holds `then` keeps it from being noticed as dropped.
  ///
  /// - Parameter handler: Calls the work off.
  public func onCancel(_ handler: @escaping @Sendable () -> Void) {
    let isCancelled = lock.withLock { $0.onCancel(id, handler) }
    if isCancelled { handler() }
  }

  /// Whether the step has been asked to stop. False when it is over.
  public var isCancelled: Bool {
    lock.withLock { $0.isRunning(id) && $0.isCancelRequested }
  }

  /// Reports how far the step has come.
  ///
  /// A fall, or a value outside 0…1, changes nothing and is reported as a ``Diagnostic``.
  ///
  /// - Parameter fraction: From 0 to 1.
  public func progress(_ fraction: Double) {
    let (result, diagnostics, step) = lock.withLock { order in
      (order.report(fraction, of: id), order.diagnostics, order.runningStep)
    }
    if case .refused(let current) = result, let step {
      let place = diagnostics ?? .shared
      place.report(.progressIgnored(step, current: current, reported: fraction))
    }
  }

  /// For marking the task that does the step's work.
  var runningStep: RunningStep { RunningStep(lock: lock, id: id) }
}

/// Marks a task as belonging to a step, so that a step which waits for itself can be told.
final class RunningStep: Sendable {
  @TaskLocal static var current: RunningStep?

  private let lock: Locked<SerialOrder>
  private let id: Int
  private let outer = RunningStep.current

  init(lock: Locked<SerialOrder>, id: Int) {
    self.lock = lock
    self.id = id
  }

  /// The step of this manager in which the caller is, if it is still running.
  static func waitingForItself(_ lock: Locked<SerialOrder>) -> StepIdentity? {
    var link = current
    while let step = link {
      if step.lock === lock {
        let identity = lock.withLock { $0.isRunning(step.id) ? $0.runningStep : nil }
        if let identity { return identity }
      }
      link = step.outer
    }
    return nil
  }
}
