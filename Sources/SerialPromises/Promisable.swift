/// A step of a ``PromiseManager``.
///
/// The manager calls ``handler`` in the step's turn and passes it a ``Then``. The step ends when
/// the handler has returned and `then` has been called. No other step of the manager runs before
/// that.
///
/// Any type can be a step:
///
/// ```swift
/// struct Download: Promisable {
///   let name: String
///   var handler: Handler {
///     { then in fetch(name) { error in then(error) } }
///   }
/// }
/// ```
public protocol Promisable: Sendable {
  /// The work of a step. Starts the work, and calls `then` when it is done.
  ///
  /// ```swift
  /// let handler: Promisable.Handler = { then in download { then() } }
  /// manager.add(handler)
  /// ```
  typealias Handler = @Sendable (_ then: Then) -> Void

  /// The work of the step. Read once, by the thread that adds the step.
  ///
  /// ```swift
  /// var handler: Handler {
  ///   let handler = work.handler
  ///   return { then in
  ///     log.append("begins")
  ///     handler(then)
  ///   }
  /// }
  /// ```
  var handler: Handler { get }
}

/// A step made from a closure, with an optional name.
///
/// ```swift
/// manager.add(Step("upload") { then in upload { error in then(error) } })
/// ```
public struct Step: Promisable {
  /// The name in events, errors and diagnostics.
  ///
  /// ```swift
  /// let step = Step("upload") { then in
  ///   upload(file) { error in then(error) }
  /// }
  /// let shown = step.name ?? "a step"  // upload
  /// ```
  public let name: String?

  /// The work of the step.
  ///
  /// ```swift
  /// let again = Step("upload again", step.handler)
  /// manager.add(step)
  /// manager.add(again)
  /// ```
  public let handler: Handler

  /// The promise that the handler starts, if any.
  let promise: AnyPromise?

  /// Creates a step.
  ///
  /// ```swift
  /// let step = Step("upload") { then in
  ///   upload(file) { error in then(error) }
  /// }
  /// let shown = step.name ?? "a step"  // upload
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name in events, errors and diagnostics.
  ///   - handler: The work. It must call its `then` exactly once.
  public init(_ name: String? = nil, _ handler: @escaping Handler) {
    self.name = name
    self.handler = handler
    promise = nil
  }

  /// Creates a step that wraps another step.
  init(_ step: some Promisable, _ handler: @escaping Handler) {
    name = step.stepName
    self.handler = handler
    promise = step.promise
  }
}

extension Promisable {
  /// The promise that is this step, or that this step wraps.
  var promise: AnyPromise? {
    (self as? Step)?.promise ?? (self as? any PromiseOfAnyType)?.erased
  }

  /// The name of the step; a promise keeps its name.
  var stepName: String? { (self as? Step)?.name ?? promise?.core.origin.name }
}

/// A closure's handler that marks the tasks that it starts as parts of its step.
///
/// In debug builds only: the mark takes longer than most handlers.
@inline(__always)
func marked(_ handler: consuming @escaping Promisable.Handler) -> Promisable.Handler {
  #if DEBUG
    return { [handler] then in
      // Not within the mark of an outer handler on the stack, which does not wait for this step.
      let token = then.token
      let mark = RunningStep(lock: token.lock, id: token.id, outer: nil, isOfHandler: true)
      RunningStep.local.withValue(mark) { handler(then) }
    }
  #else
    return handler
  #endif
}
