/// A step: something that can be put into a ``PromiseManager``.
///
/// The manager calls ``handler`` when the step's turn has come, and hands it a ``Then``. The
/// step is over when the handler has returned and `then` has been called; until that moment no
/// other step of the manager runs.
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
  /// What a step does: start the work and call `then` when it is done.
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

/// A step made of a closure and, for messages and events, a name.
///
/// ```swift
/// manager.add(Step("upload") { then in upload { error in then(error) } })
/// ```
public struct Step: Promisable {
  /// What the step is called in events, errors and diagnostics.
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

  /// The promise that the handler begins, if it is one.
  let promise: AnyPromise?

  /// Makes a step.
  ///
  /// ```swift
  /// let step = Step("upload") { then in
  ///   upload(file) { error in then(error) }
  /// }
  /// let shown = step.name ?? "a step"  // upload
  /// ```
  ///
  /// - Parameters:
  ///   - name: What the step is called in events, errors and diagnostics.
  ///   - handler: The work. It has to call the `then` that it is given, once.
  public init(_ name: String? = nil, _ handler: @escaping Handler) {
    self.name = name
    self.handler = handler
    promise = nil
  }

  /// Makes a step that does what another does in another way.
  init(_ step: some Promisable, _ handler: @escaping Handler) {
    name = step.stepName
    self.handler = handler
    promise = step.promise
  }
}

extension Promisable {
  /// The promise that is this step, or that this step is made from.
  var promise: AnyPromise? {
    (self as? Step)?.promise ?? (self as? any PromiseOfAnyType)?.erased
  }

  /// What the step is called: a promise keeps its name.
  var stepName: String? { (self as? Step)?.name ?? promise?.core.origin.name }
}
