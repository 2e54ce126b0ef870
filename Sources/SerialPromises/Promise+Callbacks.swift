// Callbacks create no promise: they return the promise that they were attached to.

extension Promise {
  /// Registers a callback for the value.
  ///
  /// ```swift
  /// page.fulfilled { text in show(text) }
  /// ```
  ///
  /// - Parameter handler: Receives the value. A closure isolated to an actor runs on that
  ///   actor.
  /// - Returns: The promise itself.
  @discardableResult
  public func fulfilled(
    @_inheritActorContext _ handler: @escaping @isolated(any) @Sendable (Value) -> Void
  ) -> Promise {
    let place = HandlerPlace(isolation: handler.isolation)
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
  /// - Parameter handler: Receives the error. A closure isolated to an actor runs on that
  ///   actor.
  /// - Returns: The promise itself.
  @discardableResult
  public func failed(
    @_inheritActorContext
    _ handler: @escaping @isolated(any) @Sendable (any Error) -> Void
  ) -> Promise {
    let place = HandlerPlace(isolation: handler.isolation)
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
  /// - Parameter handler: Receives the progress, above 0 and up to 1. A closure isolated to an
  ///   actor runs on that actor.
  /// - Returns: The promise itself.
  @discardableResult
  public func progressed(
    @_inheritActorContext _ handler: @escaping @isolated(any) @Sendable (Double) -> Void
  ) -> Promise {
    let place = HandlerPlace(isolation: handler.isolation)
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
