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
/// - If its last copy goes away uncalled, the step fails with ``PromiseError/abandoned(_:)``
///   and the queue goes on.
///
/// All calls take constant time, beside the time of the steps that may run because of them.
public struct Then: Sendable {
  // Not a class itself: a weak reference to a token that serves the next step would end that one.
  let token: Token

  /// Ends the step.
  ///
  /// If the handler has returned already, the steps that can run now run on the calling thread,
  /// or where the manager's `on:` says.
  ///
  /// - Parameter error: Why the step failed; nil if it succeeded.
  public func callAsFunction(_ error: (any Error)? = nil) {
    token.call(error)
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
    let isCancelled = token.lock.withLock { $0.onCancel(token.id, handler) }
    if isCancelled { handler() }
  }

  /// Whether the step has been asked to stop. False when it is over.
  public var isCancelled: Bool {
    token.lock.withLock { $0.isRunning(token.id) && $0.isCancelRequested }
  }

  /// Reports how far the step has come.
  ///
  /// A fall, or a value outside 0…1, changes nothing and is reported as a ``Diagnostic``.
  ///
  /// - Parameter fraction: From 0 to 1.
  public func progress(_ fraction: Double) {
    let (result, diagnostics, step) = token.lock.withLock { order in
      (order.report(fraction, of: token.id), order.diagnostics, order.runningStep)
    }
    if case .refused(let current) = result, let step {
      let place = diagnostics ?? .shared
      place.report(.progressIgnored(step, current: current, reported: fraction))
    }
  }

  /// For marking the task that does the step's work.
  var runningStep: RunningStep { RunningStep(lock: token.lock, id: token.id) }
}

/// What the copies of a `then` share; the last to go tells the order.
final class Token: @unchecked Sendable {
  // Sendable because `id` and `wasCalled` change under the lock or while a single reference
  // exists: in `reuse`, after the drain has seen that it holds the only one, and in `deinit`.
  let lock: Locked<SerialOrder>
  private(set) var id: Int
  private(set) var wasCalled = false

  init(lock: Locked<SerialOrder>, id: Int) {
    self.lock = lock
    self.id = id
  }

  deinit {
    guard !wasCalled else { return }
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
    wasCalled = false
  }

  func call(_ error: (any Error)?) {
    var isFirst = false
    let result = lock.transition { order, consequences in
      isFirst = !wasCalled
      guard isFirst else { return SerialOrder.ThenResult.late }
      wasCalled = true
      return order.then(id: id, error: error, &consequences)
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
    // All under the lock: once this was the last use of the token, the drain may reuse it.
    let (diagnostics, step) = lock.withLock { order in
      (order.diagnostics, StepIdentity(id: id, name: order.name(of: id)))
    }
    (diagnostics ?? .shared).report(isFirst ? .thenCalledLate(step) : .thenCalledAgain(step))
  }
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
