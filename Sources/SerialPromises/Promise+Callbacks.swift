import Dispatch

// Callbacks make no new promise: they return the one they were attached to.

extension Promise {
  /// Calls back with the value, if there is one.
  ///
  /// ```swift
  /// page.fulfilled { text in show(text) }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue. A closure that is isolated to an
  ///     actor runs there.
  ///   - handler: Is given the value.
  /// - Returns: The promise itself.
  @discardableResult
  public func fulfilled(
    on queue: DispatchQueue? = nil, _ handler: @escaping @isolated(any) @Sendable (Value) -> Void
  ) -> Promise {
    let place = HandlerPlace(queue, isolation: handler.isolation)
    let handler = unisolated(handler)
    return call(on: place, seesFailures: false) {
      if case .success(let value) = $0.result(of: Value.self) { handler(value) }
    }
  }

  /// Calls back with the error, if the promise fails; the failure then counts as looked at.
  ///
  /// ```swift
  /// page.failed { error in show(error) }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue. A closure that is isolated to an
  ///     actor runs there.
  ///   - handler: Is given the error.
  /// - Returns: The promise itself.
  @discardableResult
  public func failed(
    on queue: DispatchQueue? = nil,
    _ handler: @escaping @isolated(any) @Sendable (any Error) -> Void
  ) -> Promise {
    let place = HandlerPlace(queue, isolation: handler.isolation)
    let handler = unisolated(handler)
    return call(on: place, seesFailures: true) {
      if case .failure(let error) = $0 { handler(error) }
    }
  }

  /// Calls back with the progress, each time that it rises.
  ///
  /// What was reached before is told first, if it is above 0. Before the fulfillment handlers are
  /// called, the progress is 1; a promise that fails stays where it was.
  ///
  /// An event takes time in proportion to the links between the promise and the one that is at
  /// work.
  ///
  /// ```swift
  /// page.progressed { fraction in show("\(Int(fraction * 100)) %") }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue. A closure that is isolated to an
  ///     actor runs there.
  ///   - handler: Is given the progress, above 0 and up to 1.
  /// - Returns: The promise itself.
  @discardableResult
  public func progressed(
    on queue: DispatchQueue? = nil, _ handler: @escaping @isolated(any) @Sendable (Double) -> Void
  ) -> Promise {
    let place = HandlerPlace(queue, isolation: handler.isolation)
    let listener = ProgressListener(on: place, unisolated(handler))
    if core.withLock({ $0.listen(listener) }) { Trampoline.schedule(core) }
    core.watch()
    return self
  }

  private func call(
    on place: HandlerPlace, seesFailures: Bool, _ handler: @escaping Callback.Handler
  ) -> Promise {
    core.attach(Callback(on: place, seesFailures: seesFailures, handler))
    return self
  }
}
