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

  /// What the code in a task is part of.
  @usableFromInline
  struct Mark: Sendable {
    // References: the runtime takes several times as long to copy an optional structure.
    private let lock: Locked<SerialOrder>?
    private let id: Int
    private let context: Context?

    init(_ step: RunningStep?) {
      (lock, id, context) = (step?.lock, step?.id ?? 0, step?.context)
    }

    /// Marks the work of a promise, within the step if there is one.
    init(_ step: RunningStep?, _ work: any ReportingWork) {
      (lock, id, context) = (nil, 0, Context(.work(work), outer: step))
    }

    /// The innermost step.
    var step: RunningStep? {
      guard let lock else { return context?.outer }
      return RunningStep(lock: lock, id: id, context: context)
    }

    /// The promise's work that has begun within the step, or without one.
    var work: (any ReportingWork)? {
      if case .work(let work) = context?.kind { work } else { nil }
    }

    /// Whether the task does work; the mark of a closure's handler, which only debug builds set,
    /// does not count.
    var isOfWork: Bool {
      if case .handler = context?.kind { false } else { lock != nil || context != nil }
    }
  }

  static var current: RunningStep? { local.get().step }

  private let lock: Locked<SerialOrder>
  private let id: Int
  private let context: Context?

  /// What a mark has besides its step.
  private final class Context: Sendable {
    enum Kind {
      /// The step is code in a task.
      case code
      /// The step waits for code that is no work of its own: a handler of the promise that it is,
      /// or a sequence.
      case callback
      /// The closure's handler that the task belongs to.
      case handler(RunningHandler)
      /// The task does a promise's work.
      case work(any ReportingWork)
    }

    static let callback = Context(.callback, outer: nil)

    let kind: Kind
    /// The step that waits for this one; of work, the step that it is part of.
    let outer: RunningStep?

    init(_ kind: Kind, outer: RunningStep?) {
      (self.kind, self.outer) = (kind, outer)
    }
  }

  private init(lock: Locked<SerialOrder>, id: Int, context: Context?) {
    (self.lock, self.id, self.context) = (lock, id, context)
  }

  init(lock: Locked<SerialOrder>, id: Int, outer: RunningStep?) {
    self.init(lock: lock, id: id, context: outer.map { Context(.code, outer: $0) })
  }

  /// The mark of code that the step waits for, and that reports no progress: of a promise that is
  /// the step.
  init(callbackOf lock: Locked<SerialOrder>, id: Int, outer: RunningStep?) {
    self.init(
      lock: lock, id: id, context: outer.map { Context(.callback, outer: $0) } ?? .callback)
  }

  /// The mark of a closure's handler.
  ///
  /// Not within the mark of an outer handler on the stack, which does not wait for this step.
  init(handlerOf then: Then) {
    let handler = Context(.handler(RunningHandler(then)), outer: nil)
    self.init(lock: then.token.lock, id: then.token.id, context: handler)
  }

  /// The same of code that reports no progress.
  var ofCallback: RunningStep {
    isCode ? RunningStep(callbackOf: lock, id: id, outer: context?.outer) : self
  }

  /// Whether the step is code in a task: the task's own code, or code that started the task.
  var isCode: Bool {
    switch context?.kind {
    case .code, nil: true
    case .callback, .handler, .work: false
    }
  }

  /// Reports progress of the step, if it still runs.
  func report(_ fraction: Double) { lock.report(fraction, ofStep: id) }

  private var handler: RunningHandler? {
    if case .handler(let handler) = context?.kind { handler } else { nil }
  }

  /// The steps of a mark, without those that have ended, which would accumulate.
  static func running(_ mark: RunningStep?) -> RunningStep? {
    guard let mark else { return nil }
    return sequence(first: mark, next: \.context?.outer).filter { $0.identity != nil }.reversed()
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
    for step in sequence(first: mark, next: \.context?.outer) where step.lock === lock {
      if let identity = step.identity { return identity }
    }
    return nil
  }
}

/// The handler of a closure step, in the mark of the tasks that it starts: once it has called
/// `then`, nothing waits for them.
///
/// The order does not know of a call before the handler returns: the token does.
final class RunningHandler: Sendable {
  // Weak: the mark of a task that outlives the step does not prevent the detection of a dropped
  // `then`.
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
