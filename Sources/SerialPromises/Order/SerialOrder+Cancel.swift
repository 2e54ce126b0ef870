extension SerialOrder {
  /// Cancels one step: one that waits will never run, one that runs is told.
  ///
  /// - Returns: Whether this asked a running step, which is still to end.
  mutating func cancel(
    _ id: Int, _ record: StepRecord, _ consequences: inout Consequences?
  ) -> Bool {
    // Without a segment it is over.
    guard let segment = record.segment else { return false }
    switch segment.slot(id).pointee.stage {
    case .waiting:
      let wasParked = cancelWaiting(id, in: segment, &consequences)
      // One that was parked itself leaves no room behind.
      if !wasParked { admitParked(&consequences) }
      settleAfterCancel(&consequences)
      return false
    case .running:
      requestCancel(&consequences)
      return true
    case .succeeded, .failed, .cancelled, .moved:
      return false
    }
  }

  /// Cancels all that waits, and tells the one that runs.
  ///
  /// - Returns: The running step that was told.
  mutating func cancelAll(_ consequences: inout Consequences?) -> Int? {
    cancelWaiting(&consequences)
    guard isRunning else { return nil }
    requestCancel(&consequences)
    return queue.first
  }

  /// Cancels all that waits, and does not tell the one that runs.
  ///
  /// - Returns: How many slots were visited, for tests: in proportion to the steps that wait.
  @discardableResult
  mutating func cancelWaiting(_ consequences: inout Consequences?) -> Int {
    guard waitingCount > 0 else { return 0 }
    let visited = cancelWaitingWithoutSettling(&consequences)
    settleAfterCancel(&consequences)
    return visited
  }

  /// Cancels all that waits, and leaves it to the caller to see that the queue may have become idle.
  ///
  /// Admits no parked adder: its step would be cancelled next.
  ///
  /// - Returns: How many slots were visited.
  @discardableResult
  mutating func cancelWaitingWithoutSettling(_ consequences: inout Consequences?) -> Int {
    guard waitingCount > 0 else { return 0 }
    var visited = 0
    while let (segment, ids) = queue.nextToSweep() {
      visited += ids.count
      for id in ids where segment.slot(id).pointee.stage == .waiting {
        _ = cancelWaiting(id, in: segment, &consequences)
      }
    }
    return visited
  }

  /// - Returns: Whether the step was parked.
  private mutating func cancelWaiting(
    _ id: Int, in segment: Segment, _ consequences: inout Consequences?
  ) -> Bool {
    let slot = segment.slot(id)
    slot.pointee.stage = .cancelled
    waitingCount -= 1
    fewerWait(&consequences)
    if let work = slot.pointee.work.take() { consequences.needed.release(work) }
    var wasParked = false
    if let admitted = backpressure.unpark(slot.pointee.record) {
      wasParked = true
      consequences.needed.call { admitted(false) }
    }
    // Before those who ask for the outcome: they may look at what it was.
    if let cancel = slot.pointee.record?.whenCancelled.take() { consequences.needed.call(cancel) }
    if let feed, feed.isWatched { feed.append(.cancelled(segment.identity(of: id))) }
    close(id, in: segment, .cancelled, &consequences)
    if let spent = queue.leave(segment) { consequences.needed.release(spent) }
    return wasParked
  }

  /// The work of the running step `id` was canceled, but not through the step: that is the same.
  mutating func cancelledElsewhere(_ id: Int, _ consequences: inout Consequences?) {
    if isUndecided(id) { requestCancel(&consequences) }
  }

  mutating func requestCancel(_ consequences: inout Consequences?) {
    guard !isCancelRequested else { return }
    isCancelRequested = true
    guard !cancelHandlers.isEmpty else { return }
    consequences.needed.call(cancelHandlers)
    cancelHandlers = []
  }

  /// With the last waiting step gone, a queue in which nothing runs has become idle.
  private mutating func settleAfterCancel(_ consequences: inout Consequences?) {
    if waitingCount == 0 { callOffWait(&consequences) }
    // A claimed queue settles when its holder calls `next`.
    if phase == .resting, isIdle { becomeIdle(&consequences) }
  }

  /// Registers what to call when the running step `id` is cancelled.
  ///
  /// - Returns: Whether it has been cancelled already, so that the caller has to call it.
  mutating func onCancel(_ id: Int, _ handler: @escaping @Sendable () -> Void) -> Bool {
    guard isRunning, id == queue.first else { return false }
    if isCancelRequested { return true }
    cancelHandlers.append(handler)
    return false
  }
}
