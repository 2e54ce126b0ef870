extension Promisable {
  /// Lets some time pass before the step's work begins.
  ///
  /// The step takes its place in the queue meanwhile. Cancelled during that time, it ends without
  /// having begun its work. When the time is over, its handler is called where handlers run, and
  /// holds up the next step until it has returned. If the clock throws, the step fails with its error.
  ///
  /// ```swift
  /// manager.add(download.delay(.milliseconds(5)))
  /// ```
  ///
  /// - Parameters:
  ///   - duration: How long, from the moment that it is the step's turn.
  ///   - clock: What measures the time.
  /// - Returns: The later step.
  public func delay(
    _ duration: Duration, clock: some Clock<Duration> = ContinuousClock()
  ) -> Step {
    let handler = handler
    return Step(self) { then in
      then.pause(duration, clock) { then in
        // It may have been cancelled when the time was over, and the work had not begun.
        if then.isCancelled { then(CancellationError()) } else { handler(then) }
      }
    }
  }

  /// Fails the step when it takes too long.
  ///
  /// A `then` that is called in time counts, even if the handler returns later. Otherwise the step is
  /// canceled when the time is over, and ends when its cancel handlers have returned: they are called
  /// before an observer of the outcome is resumed. A `then` that they call is not late. Without waiting
  /// for its `then`, the queue goes on as soon as the handler has returned too: **what the step started may still be running**, beside the next
  /// step, and a `then` that comes later is ignored and reported as
  /// ``Diagnostic/thenCalledLate(_:)``. Where that must not be, wait for it. A time that the clock
  /// cannot measure, because it throws, counts as over: the step fails with the clock's error.
  ///
  /// ```swift
  /// let handle = manager.add(download.timeout(.seconds(30)))
  /// if case .failed(let error) = await handle.outcome { show(error) }  // after 30 seconds
  /// ```
  ///
  /// - Parameters:
  ///   - duration: How long it may take, from the moment that it is the step's turn.
  ///   - waitsForThen: Whether the step, told to cancel, still ends only when it calls `then`.
  ///   - clock: What measures the time.
  /// - Returns: A step that fails with ``PromiseError/timedOut(_:)`` when it takes too long.
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
  /// Fails the step when it takes longer from now on; only on the stack of its handler, or just before.
  func limit(_ duration: Duration, waitsForThen: Bool, _ clock: some Clock<Duration>) {
    token.callUnderLock()
    // Holds no `then`, or a dropped one would not be noticed before the time is over.
    let timer = Timer(after: duration, on: clock) { [lock = token.lock, id = token.id] failure in
      let error: any Error = failure ?? PromiseError.timedOut(duration)
      lock.timeOut(id, error, waitsForThen: waitsForThen)
    }
    token.lock.keep(timer, untilOver: token.id)
  }

  /// Goes on after some time, unless the step is cancelled before: then it ends.
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
    // Holds no `then`, or one that is dropped after the pause would not be noticed.
    onCancel { [lock = token.lock, id = token.id] in
      guard claim() else { return }
      // Before the cancellation of the timer: its task releases a `then`, possibly the last one,
      // which would end the step as one that dropped its `then`.
      lock.failBeforeStart(id, CancellationError())
      timer.cancel()
    }
  }

  /// Goes on with another handler when none of the step is on the stack, where handlers run.
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

  /// Ends the step as one whose work was called off.
  func endCancelled() {
    token.callLocked(CancellationError(), isCancellation: true)?.continueElsewhere()
  }
}

extension Locked where State == SerialOrder {
  /// Keeps an object until the step is over; one that does not run is not kept.
  func keep(_ object: some AnyObject & Sendable, untilOver id: Int) {
    withLock { $0.keep(object, untilOver: id) }
  }

  /// The time of a running step is over.
  func timeOut(_ id: Int, _ error: any Error, waitsForThen: Bool) {
    let result =
      transition {
        $0.timeOut(id: id, error: error, waitsForThen: waitsForThen, &$1)
      }
      ?? transition {
        // In a second transition, because the first calls the cancel handlers when it is over: an
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
