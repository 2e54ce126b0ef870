import Dispatch

// Callbacks create no promise: they return the promise that they were attached to.

extension Promise {
  /// Registers a callback for the value.
  ///
  /// ```swift
  /// page.fulfilled { text in show(text) }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: The queue of the handler; nil selects a global queue. A closure isolated to an
  ///     actor runs on that actor.
  ///   - handler: Receives the value.
  /// - Returns: The promise itself.
  @discardableResult
  public func fulfilled(
    on queue: DispatchQueue? = nil, _ handler: @escaping @isolated(any) @Sendable (Value) -> Void
  ) -> Promise {
    let place = HandlerPlace(queue, isolation: handler.isolation)
    let handler = unisolated(handler)
    core.attach(
      Callback(on: place, seesFailures: false) {
        if case .success(let value) = $0.result(of: Value.self) { try? handler(value) }
      })
    return self
  }

  /// Registers a callback for the error, which marks the failure as handled.
  ///
  /// ```swift
  /// page.failed { error in show(error) }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: The queue of the handler; nil selects a global queue. A closure isolated to an
  ///     actor runs on that actor.
  ///   - handler: Receives the error.
  /// - Returns: The promise itself.
  @discardableResult
  public func failed(
    on queue: DispatchQueue? = nil,
    _ handler: @escaping @isolated(any) @Sendable (any Error) -> Void
  ) -> Promise {
    let place = HandlerPlace(queue, isolation: handler.isolation)
    let handler = unisolated(handler)
    core.attach(
      Callback(on: place, seesFailures: true) {
        if case .failure(let error) = $0 { try? handler(error) }
      })
    return self
  }

  /// Registers a callback for the progress.
  ///
  /// The callback first receives the current progress, unless that is 0. A promise reaches progress
  /// 1 before its fulfillment handlers are called. A failed promise keeps its last progress.
  ///
  /// An update takes time proportional to the number of links between the promise and the running
  /// one.
  ///
  /// ```swift
  /// page.progressed { fraction in show("\(Int(fraction * 100)) %") }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: The queue of the handler; nil selects a global queue. A closure isolated to an
  ///     actor runs on that actor.
  ///   - handler: Receives the progress, above 0 and up to 1.
  /// - Returns: The promise itself.
  @discardableResult
  public func progressed(
    on queue: DispatchQueue? = nil, _ handler: @escaping @isolated(any) @Sendable (Double) -> Void
  ) -> Promise {
    let place = HandlerPlace(queue, isolation: handler.isolation)
    let handler = unisolated(handler)
    let schedules = core.withLock { settlement in
      settlement.listen { fraction in place.call { try? handler(fraction) } }
    }
    if schedules { Trampoline.schedule(core) }
    core.rejoin()
    core.watch()
    return self
  }
}
