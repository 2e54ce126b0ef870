extension Promisable {
  /// Delays the start of the step's work.
  ///
  /// The step keeps its turn during the delay. If it is canceled during the delay, it ends without
  /// starting its work. After the delay, its handler runs where handlers run, and the next step
  /// waits until it returns. If the clock throws, the step fails with the clock's error.
  ///
  /// ```swift
  /// manager.add(download.delay(.milliseconds(5)))
  /// ```
  ///
  /// - Parameters:
  ///   - duration: The delay, from the start of the step's turn.
  ///   - clock: The clock that measures the delay.
  /// - Returns: The delayed step.
  public func delay(
    _ duration: Duration, clock: some Clock<Duration> = ContinuousClock()
  ) -> Step {
    let handler = handler
    return Step(self) { then in
      then.pause(duration, clock) { then in
        // The step may have been canceled at the end of the delay, before the work started.
        if then.isCancelled { then(CancellationError()) } else { handler(then) }
      }
    }
  }

  /// Fails the step if it takes longer than a time limit.
  ///
  /// A `then` that is called in time counts, even if the handler returns later. Otherwise the step
  /// is canceled, and ends when its cancel handlers have returned: they are called before observers
  /// of the outcome are resumed. A `then` that they call is not late. By default the queue
  /// continues when the handler has returned: **the work of the step may still be running** and
  /// overlap with the next step, and a later call of `then` is ignored and reported as
  /// ``Diagnostic/thenCalledLate(_:)``. Pass `waitsForThen: true` to exclude this. If the clock
  /// throws, the time limit counts as exceeded: the step fails with the clock's error.
  ///
  /// ```swift
  /// let handle = manager.add(download.timeout(.seconds(30)))
  /// if case .failed(let error) = await handle.outcome { show(error) }  // after 30 seconds
  /// ```
  ///
  /// - Parameters:
  ///   - duration: The time limit, from the start of the step's turn.
  ///   - waitsForThen: Whether the canceled step ends only when it calls `then`.
  ///   - clock: The clock that measures the time limit.
  /// - Returns: A step that fails with ``PromiseError/timedOut(_:)`` if it exceeds the limit.
  public func timeout(
    _ duration: Duration, waitsForThen: Bool = false,
    clock: some Clock<Duration> = ContinuousClock()
  ) -> Step {
    let handler = handler
    return Step(self) { then in
      then.limit(duration, waitsForThen: waitsForThen, clock)
      handler(then)
    }
  }
}

extension Then {
  /// Sets a time limit from now on.
  ///
  /// Requires a call on the stack of the step's handler, or just before.
  func limit(_ duration: Duration, waitsForThen: Bool, _ clock: some Clock<Duration>) {
    token.callUnderLock()
    // Does not capture `then`, so that a dropped `then` is detected before the limit.
    let timer = Timer(after: duration, on: clock) { [lock = token.lock, id = token.id] failure in
      let error: any Error = failure ?? PromiseError.timedOut(duration)
      lock.timeOut(id, error, waitsForThen: waitsForThen)
    }
    token.lock.keep(timer, untilOver: token.id)
  }

  /// Continues with a handler after a delay, unless the step is canceled first, which ends it.
  func pause(
    _ duration: Duration, _ clock: some Clock<Duration>, _ handler: @escaping Promisable.Handler
  ) {
    let isClaimed = Locked(false)
    let claim = { @Sendable in
      isClaimed.withLock { isClaimed in
        defer { isClaimed = true }
        return !isClaimed
      }
    }
    let timer = Timer(after: duration, on: clock) { failure in
      guard claim() else { return }
      if let failure {
        token.lock.failBeforeStart(token.id, failure)
      } else {
        addResumption(handler)
      }
    }
    // Does not capture `then`, so that a `then` dropped after the delay is detected.
    onCancel { [lock = token.lock, id = token.id] in
      guard claim() else { return }
      // Before the cancellation of the timer: its task releases a `then`, possibly the last one,
      // which would end the step as one that dropped its `then`.
      lock.failBeforeStart(id, CancellationError())
      timer.cancel()
    }
  }

  /// Continues with another handler when none of the step's handlers is on the stack.
  ///
  /// - Parameters:
  ///   - handler: Runs as a handler of the step: the next step waits until it returns.
  ///   - drop: Called instead if the step has ended.
  func addResumption(
    _ handler: @escaping Promisable.Handler, orElse drop: @escaping @Sendable () -> Void = {}
  ) {
    let resumption = Resumption(handler, self, orElse: drop)
    let result = token.lock.transition { $0.addResumption(id: token.id, resumption, &$1) }
    if case .claimed(let manager?) = result { manager.continueElsewhere() }
  }

  /// Ends the step as canceled.
  func endCancelled() {
    token.callLocked(CancellationError(), isCancellation: true)?.continueElsewhere()
  }
}

extension Locked where State == SerialOrder {
  /// Retains an object until the step ends.
  ///
  /// Has no effect if the step is not running.
  func keep(_ object: some AnyObject & Sendable, untilOver id: Int) {
    withLock { $0.keep(object, untilOver: id) }
  }

  /// Times out a running step.
  func timeOut(_ id: Int, _ error: any Error, waitsForThen: Bool) {
    let result =
      transition {
        $0.timeOut(id: id, error: error, waitsForThen: waitsForThen, &$1)
      }
      ?? transition {
        // In a second transition, because the first calls the cancel handlers after unlocking: an
        // observer of the outcome on another thread would race with them.
        $0.cancelHandlersReturned(id: id, error: error, waitsForThen: waitsForThen, &$1)
      }
    if case .claimed(let manager?) = result { manager.continueElsewhere() }
  }

  /// Fails a step before it starts its work, or starts it again.
  func failBeforeStart(_ id: Int, _ error: any Error) {
    let result = transition { $0.then(id: id, error: error, &$1) }
    if case .claimed(let manager?) = result { manager.continueElsewhere() }
  }
}
