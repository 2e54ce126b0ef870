/// The callback that ends a step.
///
/// Call it when the step is done, so that the next step can start.
///
/// ```swift
/// manager.add { then in upload(file) { error in then(error) } }
/// ```
///
/// - Only the first call counts. A second call has no effect and is reported as a ``Diagnostic``.
/// - It may be called on any thread, during the handler or later.
/// - If the last copy is released without a call, the step fails with
///   ``PromiseError/abandoned(_:)`` and the queue continues.
///
/// A call takes constant time, plus the time of the steps that run because of it.
public struct Then: Sendable {
  // Not a class: a weak reference to a reused token would end the step that uses it now.
  let token: Token

  /// Ends the step.
  ///
  /// If the handler has returned, the next steps run on the calling thread, or where the manager's
  /// `on:` specifies.
  ///
  /// ```swift
  /// manager.add { then in
  ///   upload(file) { error in
  ///     if let error { then(error) } else { then() }
  ///   }
  /// }
  /// ```
  ///
  /// - Parameter error: The error of a step that failed; nil if it succeeded.
  public func callAsFunction(_ error: (any Error)? = nil) {
    token.call(error)
  }

  /// Registers a handler for the cancellation of the running step.
  ///
  /// The step must still call `then`, with any error if it was stopped. The handler is
  /// called once, on the thread that cancels. If the step is already canceled, it is called
  /// immediately on the calling thread. It is released when the step ends. A closure isolated to an actor is
  /// called there instead, possibly after the cancellation has returned and the step has ended.
  ///
  /// A handler that captures `then` prevents the detection of a dropped `then`.
  ///
  /// ```swift
  /// manager.add { then in
  ///   let transfer = Transfer(file) { error in then(error) }
  ///   then.onCancel { transfer.stop() }
  /// }
  /// ```
  ///
  /// - Parameter handler: Stops the work.
  public func onCancel(
    @_inheritActorContext _ handler: @escaping @isolated(any) @Sendable () -> Void
  ) {
    let handler = HandlerPlace.onActor(of: handler)
    let isCancelled = token.lock.withLock { $0.onCancel(token.id, handler) }
    if isCancelled { handler() }
  }

  /// Whether the running step was canceled; false after it has ended.
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

  /// Reports the progress of the step.
  ///
  /// A value that decreases or is outside 0…1 has no effect and is reported as a ``Diagnostic``.
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
  /// - Parameter fraction: The progress from 0 to 1.
  public func progress(_ fraction: Double) {
    let (change, place, current, step) = token.lock.withLock { order in
      let change = order.report(fraction, of: token.id)
      return (change, order.diagnostics, order.stepProgress.fraction, order.runningStep)
    }
    if change == .refused, let step {
      (place ?? .shared).report(.progressIgnored(step, current: current, reported: fraction))
    }
  }
}

/// Marks a task as part of a step, to detect a step that waits for itself.
///
/// A value, so that a step without outer ones allocates nothing for its mark.
@usableFromInline
struct RunningStep: Sendable {
  /// Without the macro, whose value is not available to code that is inlined into other modules.
  @usableFromInline static let local = TaskLocal<RunningStep?>(wrappedValue: nil)

  static var current: RunningStep? { local.get() }

  /// The mark of the task, except the mark of a closure's handler, which only debug builds set.
  static var ofWork: RunningStep? { current.flatMap { $0.handler == nil ? $0 : nil } }

  private let lock: Locked<SerialOrder>
  private let id: Int
  private let context: Context?

  /// One reference, because each copy of a mark retains it.
  private enum Context {
    /// The step that waits for this one, in an array, because a structure cannot contain another of its type.
    case outer([RunningStep])
    /// The closure's handler that the task belongs to.
    case handler(RunningHandler)
  }

  init(lock: Locked<SerialOrder>, id: Int, outer: RunningStep?) {
    (self.lock, self.id) = (lock, id)
    context = outer.map { .outer([$0]) }
  }

  /// The mark of a closure's handler.
  ///
  /// Not within the mark of an outer handler on the stack, which does not wait for this step.
  init(handlerOf then: Then) {
    (lock, id) = (then.token.lock, then.token.id)
    context = .handler(RunningHandler(then))
  }

  private var outer: RunningStep? { if case .outer(let steps) = context { steps[0] } else { nil } }

  private var handler: RunningHandler? {
    if case .handler(let handler) = context { handler } else { nil }
  }

  /// The steps of a mark, without those that have ended, which would accumulate.
  static func running(_ mark: RunningStep?) -> RunningStep? {
    guard let mark else { return nil }
    return sequence(first: mark, next: \.outer).filter { $0.identity != nil }.reversed()
      .reduce(nil) { $1.handler == nil ? RunningStep(lock: $1.lock, id: $1.id, outer: $0) : $1 }
  }

  /// The step, if it runs and may wait for the task.
  private var identity: StepIdentity? {
    // Read before the lock is taken: if the step still runs then, it did at this moment.
    if let handler, handler.hasCalledThen(id) { return nil }
    return lock.withLock { $0.isRunning(id) ? $0.runningStep : nil }
  }

  /// The running step of this manager that the caller, which has the mark, belongs to, if any.
  static func deadlockedStep(
    _ lock: Locked<SerialOrder>, in mark: RunningStep? = current
  ) -> StepIdentity? {
    guard let mark else { return nil }
    for step in sequence(first: mark, next: \.outer) where step.lock === lock {
      if let identity = step.identity { return identity }
    }
    return nil
  }
}

/// The handler of a closure step, in the mark of the tasks that it starts: once it has called `then`,
/// nothing waits for them.
///
/// The order does not know of a call before the handler returns: the token does.
final class RunningHandler: Sendable {
  // Weak: the mark of a task that outlives the step does not prevent the detection of a dropped `then`.
  private weak let token: Token?

  init(_ then: Then) { token = then.token }

  /// Whether the `then` of step `id` was called, or released.
  ///
  /// Call it without the lock, which the `deinit` of the token takes.
  func hasCalledThen(_ id: Int) -> Bool {
    // A token is reused only after the end of its step.
    token.map { $0.id != id || $0.isCalled } ?? true
  }
}
