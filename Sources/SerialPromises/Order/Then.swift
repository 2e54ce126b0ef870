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
  /// ```swift
  /// manager.add { then in
  ///   upload(file) { error in
  ///     if let error { then(error) } else { then() }
  ///   }
  /// }
  /// ```
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
  /// ```swift
  /// manager.add { then in
  ///   let transfer = Transfer(file) { error in then(error) }
  ///   then.onCancel { transfer.stop() }
  /// }
  /// ```
  ///
  /// - Parameter handler: Calls the work off.
  public func onCancel(_ handler: @escaping @Sendable () -> Void) {
    let isCancelled = token.lock.withLock { $0.onCancel(token.id, handler) }
    if isCancelled { handler() }
  }

  /// Whether the step has been asked to stop; false when it is over.
  ///
  /// ```swift
  /// manager.add { then in
  ///   for url in urls where !then.isCancelled { show(url) }
  ///   then(then.isCancelled ? CancellationError() : nil)
  /// }
  /// ```
  public var isCancelled: Bool {
    token.lock.withLock { $0.isRunning(token.id) && $0.isCancelRequested }
  }

  /// Whether the step runs and has not been asked to stop.
  var isWanted: Bool {
    token.lock.withLock { $0.isRunning(token.id) && !$0.isCancelRequested }
  }

  /// Reports how far the step has come.
  ///
  /// A fall, or a value outside 0…1, changes nothing and is reported as a ``Diagnostic``.
  ///
  /// ```swift
  /// manager.add { then in
  ///   for (index, url) in urls.enumerated() {
  ///     show(url)
  ///     then.progress(Double(index + 1) / Double(urls.count))
  ///   }
  ///   then()
  /// }
  /// ```
  ///
  /// - Parameter fraction: From 0 to 1.
  public func progress(_ fraction: Double) {
    let (change, place, current, step) = token.lock.transition { order, consequences in
      let change = order.report(fraction, of: token.id, &consequences)
      return (change, order.diagnostics, order.stepProgress.fraction, order.runningStep)
    }
    if change == .refused, let step {
      (place ?? .shared).report(.progressIgnored(step, current: current, reported: fraction))
    }
  }

  /// Reports how far the step has come, if that is further than was known.
  func advance(to fraction: Double) {
    token.lock.transition { order, consequences in
      guard fraction > order.stepProgress.fraction else { return }
      _ = order.report(fraction, of: token.id, &consequences)
    }
  }

  /// For marking the task that does the step's work; `outer` are the steps that wait for this one.
  func runningStep(in outer: RunningStep?) -> RunningStep {
    RunningStep(lock: token.lock, id: token.id, outer: outer)
  }
}

/// Marks a task as belonging to a step, so that a step which waits for itself can be told.
final class RunningStep: Sendable {
  @TaskLocal static var current: RunningStep?

  private let lock: Locked<SerialOrder>
  private let id: Int
  private let outer: RunningStep?

  init(lock: Locked<SerialOrder>, id: Int, outer: RunningStep?) {
    self.lock = lock
    self.id = id
    self.outer = outer
  }

  /// The caller's steps, without those that have ended, which would accumulate.
  static var callerSteps: RunningStep? {
    var link = current
    guard link != nil else { return nil }
    var running: [RunningStep] = []
    while let step = link {
      if step.isRunning { running.append(step) }
      link = step.outer
    }
    return running.reversed().reduce(nil) { RunningStep(lock: $1.lock, id: $1.id, outer: $0) }
  }

  private var isRunning: Bool { lock.withLock { $0.isRunning(id) } }

  /// Tells the step to stop, unless it is over.
  func cancel() {
    lock.transition { order, consequences in
      if order.isRunning(id) { order.requestCancel(&consequences) }
    }
  }

  /// The running step of this manager that the caller belongs to, if any.
  static func deadlockedStep(_ lock: Locked<SerialOrder>) -> StepIdentity? {
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
