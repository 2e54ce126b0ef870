extension Promisable {
  /// Fails the step if it takes longer than a time limit.
  ///
  /// A `then` that is called in time counts, even if the handler returns later. Otherwise the step
  /// is canceled. When its cancel handlers have returned, its outcome is the timeout, and observers
  /// are notified. A `then` that the cancel handlers call is not late. Handlers of an actor may run
  /// later.
  ///
  /// **The next step still waits for the `then`** of this one, or the end of its promise's work.
  /// Pass `abandoning: true` for work that may overlap with later steps; see
  /// <doc:LifeOfAStep#Time-limits>.
  ///
  /// If the clock throws, the time limit counts as exceeded: the step fails with the clock's error.
  ///
  /// ```swift
  /// let handle = manager.add(download.timeout(.seconds(30)))
  /// // After 30 seconds.
  /// if case .failed(let error) = await handle.outcome { show(error) }
  /// ```
  ///
  /// - Parameters:
  ///   - duration: The time limit, from the start of the step's turn.
  ///   - abandoning: Whether the queue continues although **the work of the step may still be
  ///     running**.
  ///   - clock: The clock that measures the time limit.
  /// - Returns: A step that fails with ``PromiseError/timedOut(_:)`` if it exceeds the limit.
  public func timeout(
    _ duration: Duration, abandoning: Bool = false,
    clock: some Clock<Duration> = ContinuousClock()
  ) -> Step {
    var step = Step(self)
    step.work = Work { [work = step.work] then in
      then.token.callUnderLock()
      then.token.lock.limit(then.token.id, duration, abandoning: abandoning, clock)
      work.call(then)
    }
    return step
  }
}

extension Locked where State == SerialOrder {
  /// Sets a time limit for the running step from now on.
  func limit(_ id: Int, _ duration: Duration, abandoning: Bool, _ clock: some Clock<Duration>) {
    // Does not capture `then`, so that a dropped `then` is detected before the limit.
    let timer = Timer(after: duration, on: clock) { failure in
      let error: any Error = failure ?? PromiseError.timedOut(duration)
      let result =
        self.transition { $0.timeOut(id: id, error: error, abandoning: abandoning) }
        // In a second transition, because the first calls the cancel handlers after unlocking: an
        // observer of the outcome on another thread would race with them.
        ?? self.transition { $0.timedOut(id: id) }
      if case .claimed(let manager?) = result { manager.continueElsewhere() }
    }
    withLock { $0.supervision(of: id)?.timers.append(timer) }
  }
}
