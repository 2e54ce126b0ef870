/// Asynchronous work of its own in a task, which reports progress.
protocol ReportingWork: AnyObject, Sendable {
  func report(_ fraction: Double)
}

/// Marks a task as part of a step, to detect a step that waits for itself.
///
/// A value, so that a step without outer ones allocates nothing for its mark.
@usableFromInline
struct RunningStep: Sendable {
  /// Without the macro, whose value is not available to code that is inlined into other modules.
  @usableFromInline static let local = TaskLocal(wrappedValue: Mark(nil))

  /// The value of the task-local: the runtime copies a structure in half the time of an optional.
  @usableFromInline
  struct Mark: Sendable {
    let step: RunningStep?
    /// The work of a promise that has begun within the step, or without one.
    let work: (any ReportingWork)?

    init(_ step: RunningStep?, _ work: (any ReportingWork)? = nil) {
      (self.step, self.work) = (step, work)
    }

    /// Whether the task does work; the mark of a closure's handler, which only debug builds set, does not count.
    var isOfWork: Bool { work != nil || step.map { $0.handler == nil } ?? false }
  }

  static var current: RunningStep? { local.get().step }

  private let lock: Locked<SerialOrder>
  private let id: Int
  private let context: Context?

  /// One reference, because each copy of a mark retains it.
  private enum Context {
    /// The step is a promise, whose handler the task runs; with the step that waits for this one, if any.
    case promise([RunningStep])
    /// The step that waits for this one, in an array, because a structure cannot contain another of its type.
    case outer([RunningStep])
    /// The closure's handler that the task belongs to.
    case handler(RunningHandler)
  }

  init(lock: Locked<SerialOrder>, id: Int, outer: RunningStep?) {
    (self.lock, self.id) = (lock, id)
    context = outer.map { .outer([$0]) }
  }

  /// The mark of a handler of a promise that is a step.
  init(promiseOf lock: Locked<SerialOrder>, id: Int, outer: RunningStep?) {
    (self.lock, self.id) = (lock, id)
    context = .promise(outer.map { [$0] } ?? [])
  }

  /// The mark of a closure's handler.
  ///
  /// Not within the mark of an outer handler on the stack, which does not wait for this step.
  init(handlerOf then: Then) {
    (lock, id) = (then.token.lock, then.token.id)
    context = .handler(RunningHandler(then))
  }

  private var outer: RunningStep? {
    switch context {
    case .outer(let steps), .promise(let steps): steps.first
    case .handler, nil: nil
    }
  }

  /// Whether the step is code in a task: the task's own code, or code that started the task.
  var isCode: Bool {
    switch context {
    case .outer, nil: true
    case .promise, .handler: false
    }
  }

  /// Reports progress of the step, if it still runs.
  func report(_ fraction: Double) { lock.report(fraction, ofStep: id) }

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
