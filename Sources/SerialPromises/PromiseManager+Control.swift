extension PromiseManager {
  /// Pauses the queue: the running step may end, and no other starts until `resume()`.
  ///
  /// ```swift
  /// manager.pause()
  /// manager.add { then in download { then() } }
  /// let backlog = "\(manager.waitingCount) to go"  // 1 to go
  /// ```
  public func pause() {
    order.transition { $0.pause(for: self) }
  }

  /// Resumes the queue after `pause()`, or after a failure that stopped it, and clears the failure.
  ///
  /// Waiting steps run on this thread, or where `on:` specifies.
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
    if order.transition({ $0.resume(for: self) }) { startTurn() }
  }

  /// Whether the queue is paused.
  ///
  /// ```swift
  /// let button = manager.isPaused ? "Resume" : "Pause"
  /// ```
  public var isPaused: Bool {
    order.withLock { $0.isPaused }
  }

  /// The error that stopped the queue under ``FailurePolicy/stop``, until the queue is resumed.
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

  /// Closes the queue, which refuses further steps.
  ///
  /// Steps that were added before still run.
  ///
  /// ```swift
  /// manager.close()
  /// let late = manager.add { then in download { then() } }
  /// // PromiseError.closed
  /// if case .failed(let error) = await late.outcome { show(error) }
  /// ```
  public func close() {
    order.withLock { $0.close(for: self) }
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

  /// The number of waiting steps, not counting the running one.
  ///
  /// ```swift
  /// manager.pause()
  /// manager.add { then in download { then() } }
  /// let backlog = "\(manager.waitingCount) to go"  // 1 to go
  /// ```
  public var waitingCount: Int {
    order.withLock { $0.waitingCount }
  }

  /// Whether no step runs or waits.
  ///
  /// A paused manager with waiting steps is not idle. Another thread may add a step at any time:
  /// use ``idle()`` to wait for this condition.
  ///
  /// ```swift
  /// let canQuit = manager.isIdle  // nothing would be lost
  /// ```
  public var isIdle: Bool {
    order.withLock { $0.isIdle }
  }

  /// The running step; nil between two steps, and when no step runs.
  ///
  /// A step runs from the call of its handler until its end; a turn, and the work of `run` or
  /// `enqueue`, from the moment when its task is resumed, even if its actor is busy.
  ///
  /// ```swift
  /// let status = manager.runningStep.map { "\($0) runs" } ?? "nothing runs"
  /// ```
  public var runningStep: StepIdentity? {
    order.withLock { $0.runningStep }
  }

  /// The progress of the queue from 0 to 1: the ended steps and the progress of the running one,
  /// divided by the number of steps added since the manager was last idle.
  ///
  /// The value is 1 if no step has been added.
  ///
  /// ```swift
  /// let bar = String(repeating: "#", count: Int(manager.progress * 20))
  /// ```
  public var progress: Double {
    order.withLock { $0.progress }
  }

  /// Cancels all steps: the waiting steps will not run, and the running step is requested to stop.
  ///
  /// Spares the running code of ``withTurn(_:at:waitingAtMost:_:)``, which only its own task
  /// cancels. Steps added later run. Takes time proportional to the number of waiting steps.
  ///
  /// ```swift
  /// manager.cancelAll()
  /// await manager.idle()  // the running step has ended
  /// ```
  public func cancelAll() {
    order.transition { _ = $0.cancelAll() }
  }

  /// Cancels the waiting steps, but not the running one.
  ///
  /// A turn, or the work of `run` or `enqueue`, that has not begun because its actor is busy, is
  /// canceled too. Steps added later run. Takes time proportional to the number of waiting steps.
  ///
  /// ```swift
  /// manager.cancelWaiting()
  /// await manager.idle()  // the running step has ended, in its own time
  /// ```
  public func cancelWaiting() {
    order.transition { $0.cancelNotBegun() }
  }

  /// Cancels all steps, and ends the running one without its `then` if it takes longer than a grace
  /// period.
  ///
  /// As with ``StepHandle/cancel(grace:clock:)``, the work of the running step may continue and
  /// overlap with the next step. Spares the running code of ``withTurn(_:at:waitingAtMost:_:)``.
  ///
  /// ```swift
  /// manager.cancelAll(grace: .seconds(5))
  /// // After five seconds at most, if the running handler has returned.
  /// await manager.idle()
  /// ```
  ///
  /// - Parameters:
  ///   - grace: The time after which the running step ends without its `then`.
  ///   - clock: The clock that measures the grace period.
  public func cancelAll(grace: Duration, clock: some Clock<Duration> = ContinuousClock()) {
    let running = order.transition { $0.cancelAll() }
    if let running { order.endCancelled(running, after: grace, on: clock) }
  }
}

extension Locked where State == SerialOrder {
  /// Breaks the cycles from the lock, over the queue, its segments, records and token, to the lock.
  func invalidate() {
    transition { $0.invalidate() }
    // Not before: steps whose work was canceled have ended now, and sent their event.
    transition { $0.line.endEvents() }
    // Each segment is released after the lock.
    while withLock({ $0.line.queue.removeSegment() }) != nil {}
  }
}
