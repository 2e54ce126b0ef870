/// A type whose values a ``PromiseManager`` runs as steps.
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
  /// let step = Step("upload") { then in upload(file) { then($0) } }
  /// let shown = step.name ?? "a step"  // upload
  /// ```
  public let name: String?

  /// The work of the step.
  ///
  /// For a closure isolated to an actor, it calls the closure there. In a step that wraps it, what
  /// the closure does after its call of `then` may run beside the next step.
  ///
  /// ```swift
  /// let again = Step("upload again", step.handler)
  /// manager.add(step)
  /// manager.add(again)
  /// ```
  public var handler: Handler {
    guard let isolation else { return work.call }
    return { [work] then in HandlerPlace.call(on: isolation) { work.call(then) } }
  }

  /// The work; safe only on the actor of `isolation`, if there is one.
  var work: Work

  /// The actor of the handler; nil if it belongs to none.
  let isolation: (any Actor)?

  /// The promise that the handler starts, if any.
  let promise: AnyPromise?

  /// Creates a step from a closure.
  ///
  /// ```swift
  /// let step = Step("upload") { then in upload(file) { then($0) } }
  /// let shown = step.name ?? "a step"  // upload
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name in events, errors and diagnostics.
  ///   - handler: The work. It must call its `then` exactly once. A closure isolated to an actor
  ///     runs on that actor.
  public init(
    _ name: String? = nil,
    @_inheritActorContext _ handler: @escaping @isolated(any) @Sendable (_ then: Then) -> Void
  ) {
    self.name = name
    isolation = handler.isolation
    work = Work(unisolated: handler)
    promise = nil
  }

  /// Creates a step from one of any type.
  init(_ step: some Promisable) {
    // Compares the types first: each cast takes a third of the time of a step.
    if type(of: step) == Step.self, let step = step as? Step {
      self = step
    } else {
      promise = (step as? any PromiseOfAnyType)?.erased
      name = promise?.core.origin.name
      work = Work(step.handler)
      isolation = nil
    }
  }
}

extension Step {
  /// The work, to run in a turn.
  var workOfTurn: Work { promise == nil ? work.marked() : work }
}

extension Work {
  /// A closure's handler that marks the tasks that it starts as parts of its step.
  ///
  /// In debug builds only: the mark takes longer than most handlers.
  @inline(__always)
  consuming func marked() -> Work {
    #if DEBUG
      return Work { [call] then in
        RunningStep.local.withValue(RunningStep.Mark(RunningStep(handlerOf: then))) { call(then) }
      }
    #else
      return self
    #endif
  }
}
