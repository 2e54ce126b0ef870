// Forwarding an outcome to another promise, and chaining functions.

extension Promise {
  /// Settles a deferred with the outcome of this promise, and forwards its progress.
  ///
  /// Nothing else can settle the deferred from now on. Demands this promise.
  ///
  /// ```swift
  /// let deferred = Deferred<User>()
  /// login().relay(to: deferred)
  /// let user = try await deferred.promise.value
  /// ```
  ///
  /// - Parameter deferred: The deferred to settle.
  /// - Returns: The promise itself.
  @discardableResult
  public func relay(to deferred: Deferred<Value>) -> Promise {
    deferred.adopt(self)
    return self
  }
}

/// Passes a value through a sequence of functions.
///
/// ```swift
/// let image = chain(initial: photo, [crop, sharpen, upload])
/// ```
///
/// - Parameters:
///   - value: The argument of the first transform.
///   - transforms: The functions. Each receives the result of the previous one. If empty, the
///     result is `value`.
///   - file: The source location, for diagnostics.
///   - line: The source location, for diagnostics.
/// - Returns: A promise of the last result. In its progress, each transform has the same share.
public func chain<Value: Sendable>(
  initial value: Value, _ transforms: [@Sendable (Value) throws -> Promise<Value>],
  file: StaticString = #fileID, line: UInt = #line
) -> Promise<Value> {
  // Depth 0: not a part of the work.
  let core = Core(origin: Origin("chain", file, line), depth: 0, .value(value))
  return transforms.reduce(Promise(hot: core)) { $0.then($1) }
}

/// Passes the value of a promise through a sequence of functions.
///
/// ```swift
/// let image = chain(initial: fetchAvatar(of: user), [crop, sharpen])
/// ```
///
/// - Parameters:
///   - promise: Its value is the argument of the first transform.
///   - transforms: The functions. Each receives the result of the previous one. If empty, the
///     result is that value.
/// - Returns: A promise of the last result. In its progress, the promise and each transform have
///   the same share.
public func chain<Value: Sendable>(
  initial promise: Promise<Value>, _ transforms: [@Sendable (Value) throws -> Promise<Value>]
) -> Promise<Value> {
  // Depth 1: a single part of the work, regardless of its number of links.
  let first = Core.Traits(origin: promise.core.origin, kind: .passage)
  let start = promise.erased.link(first, .sync({ try .passOn($0) }, on: nil))
  return transforms.reduce(Promise(start)) { $0.then($1) }
}

extension PromiseManager {
  /// Runs promises as steps, one after another.
  ///
  /// If one fails, the manager's ``FailurePolicy`` determines what happens to the others. Canceling
  /// the result cancels the steps. An unhandled failure of the result is reported to the manager's
  /// diagnostics.
  ///
  /// ```swift
  /// let pages = manager.serially(urls.map { url in fetch(url) })
  /// let texts = try await pages.value
  /// ```
  ///
  /// - Parameters:
  ///   - promises: Cold promises. The manager starts each in its turn.
  ///   - file: The source location, for diagnostics.
  ///   - line: The source location, for diagnostics.
  /// - Returns: A promise of all values, in the order of the promises. If one fails or is refused,
  ///   it fails with a ``WhenError`` with the index. If `promises` is empty, the value is an empty
  ///   array.
  public func serially<Value: Sendable>(
    _ promises: [Promise<Value>], file: StaticString = #fileID, line: UInt = #line
  ) -> Promise<[Value]> {
    let results = promises.map { Core(origin: $0.core.origin) }
    // Combined before any of them can fail, so that the error names the first failed step, not one
    // that the policy canceled because of it.
    let origin = Origin("serially", file, line, diagnostics)
    let all = when(results.map { Promise<Value>(hot: $0) }, origin)
    for (promise, result) in zip(promises, results) { add(promise, into: result) }
    return all
  }
}
