extension PromiseManager {
  /// Lets the running step end and starts no other until `resume()`.
  ///
  /// ```swift
  /// manager.pause()
  /// manager.add { then in download { then() } }
  /// let backlog = "\(manager.waitingCount) to go"  // 1 to go
  /// ```
  public func pause() {
    order.transition { $0.pause(&$1) }
  }

  /// Goes on after `pause()` or after a failure that stopped the manager, and forgets the failure.
  ///
  /// Steps that wait run on this thread, or where `on:` says.
  ///
  /// ```swift
  /// let manager = PromiseManager(onFailure: .stop)
  /// manager.add { then in upload("missing") { error in then(error) } }
  /// if let failure = manager.failure {
  ///   log.warning("stopped: \(failure)")
  ///   manager.resume()  // continues with the next step
  /// }
  /// ```
  public func resume() {
    let (claims, failure) = order.withLock { $0.resume(for: self) }
    withExtendedLifetime(failure) {}
    if claims { startTurn(.resumed) }
  }

  /// Whether the manager starts no further step until it is resumed.
  ///
  /// ```swift
  /// let button = manager.isPaused ? "Resume" : "Pause"
  /// ```
  public var isPaused: Bool {
    order.withLock { $0.isPaused }
  }

  /// Why the manager stopped, under the policy ``FailurePolicy/stop``; nil once it is resumed.
  ///
  /// ```swift
  /// let manager = PromiseManager(onFailure: .stop)
  /// manager.add { then in upload("missing") { error in then(error) } }
  /// if let failure = manager.failure {
  ///   log.warning("stopped: \(failure)")
  ///   manager.resume()  // continues with the next step
  /// }
  /// ```
  public var failure: (any Error)? {
    order.withLock { $0.failure }
  }

  /// Refuses further steps; those that are there still run.
  ///
  /// ```swift
  /// manager.close()
  /// let late = manager.add { then in download { then() } }
  /// if case .failed(let error) = await late.outcome { show(error) }  // PromiseError.closed
  /// ```
  public func close() {
    order.withLock { $0.close() }
  }

  /// Whether the manager refuses further steps.
  ///
  /// ```swift
  /// if !manager.isClosed {
  ///   manager.add { then in download { then() } }
  /// }
  /// ```
  public var isClosed: Bool {
    order.withLock { $0.isClosed }
  }

  /// How many steps wait; the running one is not counted.
  ///
  /// ```swift
  /// manager.pause()
  /// manager.add { then in download { then() } }
  /// let backlog = "\(manager.waitingCount) to go"  // 1 to go
  /// ```
  public var waitingCount: Int {
    order.withLock { $0.waitingCount }
  }

  /// Whether nothing runs and nothing waits.
  ///
  /// A paused manager in which steps wait is not idle. Another thread may add a step meanwhile: to wait
  /// for this, use ``idle()``.
  ///
  /// ```swift
  /// let canQuit = manager.isIdle  // nothing would be lost
  /// ```
  public var isIdle: Bool {
    order.withLock { $0.isIdle }
  }

  /// The step that runs; nil between two steps, and when nothing runs.
  ///
  /// A step runs from the call of its handler until it is over.
  ///
  /// ```swift
  /// let status = manager.runningStep.map { "\($0) runs" } ?? "nothing runs"
  /// ```
  public var runningStep: StepIdentity? {
    order.withLock { $0.runningStep }
  }

  /// How far the queue has come, from 0 to 1: the steps that are over and the progress of the
  /// running one, over all steps that were added since the manager was last idle.
  ///
  /// It is 1 when nothing has been added.
  ///
  /// ```swift
  /// let bar = String(repeating: "#", count: Int(manager.progress * 20))
  /// ```
  public var progress: Double {
    order.withLock { $0.progress }
  }

  /// Cancels every step that waits, and tells the one that runs.
  ///
  /// Steps that are added afterwards run. Takes time in proportion to the steps that wait.
  ///
  /// ```swift
  /// manager.cancelAll()
  /// await manager.idle()  // the running step has ended
  /// ```
  public func cancelAll() {
    order.transition { _ = $0.cancelAll(&$1) }
  }

  /// Cancels every step that waits, and spares the one that runs.
  ///
  /// The running step is not told. Steps that are added afterwards run. Takes time in proportion to
  /// the steps that wait.
  ///
  /// ```swift
  /// manager.cancelWaiting()
  /// await manager.idle()  // the running step has ended, in its own time
  /// ```
  public func cancelWaiting() {
    order.transition { _ = $0.cancelWaiting(&$1) }
  }

  /// Cancels every step, and ends the running one without its `then` if it takes longer than a
  /// grace period.
  ///
  /// As ``StepHandle/cancel(grace:clock:)`` does for one step: what the running step started may still
  /// be running afterwards, beside the next step.
  ///
  /// ```swift
  /// manager.cancelAll(grace: .seconds(5))
  /// await manager.idle()  // after five seconds at most, if the running handler has returned
  /// ```
  ///
  /// - Parameters:
  ///   - grace: How long the running step may continue after it was asked to stop.
  ///   - clock: What measures the time.
  public func cancelAll(grace: Duration, clock: some Clock<Duration> = ContinuousClock()) {
    let running = order.transition { $0.cancelAll(&$1) }
    if let running { order.endCancelled(running, after: grace, on: clock) }
  }
}

extension Locked where State == SerialOrder {
  /// Breaks the cycles from the lock, over the queue, its segments, records and token, to the lock.
  func invalidate() {
    transition { $0.invalidate(&$1) }
    // Each segment is released after the lock.
    while withLock({ $0.removeSegment() }) != nil {}
  }
}
