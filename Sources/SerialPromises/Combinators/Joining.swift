// One promise settled as another, and promises one after another.

extension Promise {
  /// Settles a deferred as this promise is settled: value, error and progress.
  ///
  /// The deferred cannot be settled in any other way from now on. Demands this promise.
  ///
  /// ```swift
  /// let deferred = Deferred<User>()
  /// login().relay(to: deferred)
  /// let user = try await deferred.promise.value
  /// ```
  ///
  /// - Parameter deferred: Whose promise ends as this one.
  /// - Returns: The promise itself.
  @discardableResult
  public func relay(to deferred: Deferred<Value>) -> Promise {
    deferred.adopt(self)
    return self
  }
}

/// Passes a value through functions, one after another.
///
/// ```swift
/// let image = chain(initial: photo, [crop, sharpen, upload])
/// ```
///
/// - Parameters:
///   - value: What the first transform is given.
///   - transforms: Each is given what the one before made. None: the result is `value`.
///   - file: Where the promise is made, for diagnostics.
///   - line: Where the promise is made, for diagnostics.
/// - Returns: A promise of what the last one made. In its progress each transform counts the same.
public func chain<Value: Sendable>(
  initial value: Value, _ transforms: [@Sendable (Value) throws -> Promise<Value>],
  file: StaticString = #fileID, line: UInt = #line
) -> Promise<Value> {
  // Not a part of the work: of depth 0.
  let core = Core(origin: Origin("chain", file, line), depth: 0, .value(value))
  return transforms.reduce(Promise(hot: core)) { $0.then($1) }
}

/// Passes a promise's value through functions, one after another.
///
/// ```swift
/// let image = chain(initial: fetchAvatar(of: user), [crop, sharpen])
/// ```
///
/// - Parameters:
///   - promise: Its value is given to the first transform.
///   - transforms: Each is given what the one before made. None: the result is that value.
/// - Returns: A promise of what the last one made. In its progress the promise and each transform
///   count the same.
public func chain<Value: Sendable>(
  initial promise: Promise<Value>, _ transforms: [@Sendable (Value) throws -> Promise<Value>]
) -> Promise<Value> {
  // One part of the work, however many links it has: of depth 1.
  let first = Core.Traits(origin: promise.core.origin, kind: .passage)
  let start = promise.erased.attach(HandlerLink(first) { try .passOn($0) })
  return transforms.reduce(Promise(start)) { $0.then($1) }
}

extension PromiseManager {
  /// Runs promises as steps, one after another.
  ///
  /// What happens to the others when one fails is up to the manager's ``FailurePolicy``.
  /// Cancelling the result cancels the steps.
  ///
  /// ```swift
  /// let pages = manager.serially(urls.map { url in Promise { try await load(url) } })
  /// let texts = try await pages.value
  /// ```
  ///
  /// - Parameters:
  ///   - promises: Cold promises; the manager starts each when it is its turn.
  ///   - file: Where the promise is made, for diagnostics.
  ///   - line: Where the promise is made, for diagnostics.
  /// - Returns: A promise of all values, in the order of the promises; for none, of an empty array.
  ///   When one fails, or is refused, it fails with a ``WhenError`` that has its index.
  public func serially<Value: Sendable>(
    _ promises: [Promise<Value>], file: StaticString = #fileID, line: UInt = #line
  ) -> Promise<[Value]> {
    let results = promises.map { Core(origin: $0.core.origin) }
    // Combined before they can fail: the result names the step that failed first, and not one that the
    // policy cancels because of it.
    let all = when(results.map { Promise<Value>(hot: $0) }, file: file, line: line)
    for (promise, result) in zip(promises, results) {
      add(promise, name: promise.stepName, into: result)
    }
    return all
  }
}
