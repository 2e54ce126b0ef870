extension SerialOrder {
  /// The running step is over.
  @inline(__always)
  mutating func end(_ error: (any Error)?, _ consequences: inout Consequences?) {
    phase = .claimed
    stepProgress = Progress()
    let slot = queue.firstSlot
    // Most steps succeed, and nobody watches.
    if error == nil, slot.pointee.record == nil, !isCancelRequested, cancelHandlers.isEmpty,
      feed == nil
    {
      slot.pointee.stage = .succeeded
      queue.popFirst()
    } else {
      endWatched(error, &consequences)
    }
  }

  private mutating func endWatched(
    _ error: (any Error)?, _ consequences: inout Consequences?
  ) {
    var error = error
    // A step that timed out has failed, whatever it says when it ends at last.
    let isTimedOut = timeOutError != nil
    if let timeOutError = timeOutError.take() {
      // What it says may hold somebody's objects, whose release may run their code.
      if let error { consequences.needed.release(error) }
      error = timeOutError
    }
    let id = queue.first
    let slot = queue.firstSlot
    let segment = queue.firstSegment
    let outcome: StepOutcome
    if let error {
      let isCancelled = isCancelRequested && !isTimedOut && isCancellation(error)
      outcome = isCancelled ? .cancelled : .failed(error)
      // A cancellation may be described by an object of the user's.
      if isCancelled { consequences.needed.release(error) }
    } else {
      outcome = .succeeded
    }
    slot.pointee.stage = outcome.stage
    if isCancelRequested || !cancelHandlers.isEmpty {
      isCancelRequested = false
      isGraceOver = false
      // Their release may run somebody's code.
      consequences.needed.release(cancelHandlers)
      cancelHandlers = []
    }
    if let feed, feed.isWatched { feed.ended(segment.identity(of: id), outcome) }
    close(id, in: segment, outcome, &consequences)
    queue.popFirst()
    if case .failed(let error) = outcome { apply(policy, to: error, &consequences) }
  }

  /// Adds a listener.
  mutating func listen(_ buffer: EventBuffer) {
    let feed = feed ?? EventFeed()
    self.feed = feed
    feed.add(buffer)
  }

  private mutating func apply(
    _ policy: FailurePolicy, to error: any Error, _ consequences: inout Consequences?
  ) {
    switch policy {
    case .continue: break
    case .stop:
      isPaused = true
      let old = failure
      failure = error
      if let old { consequences.needed.release(old) }
    case .cancelRest:
      // The thread that ends the step has the claim, and settles when it calls `next`.
      cancelWaitingWithoutSettling(&consequences)
    }
  }

  /// Whether the error says that the work was called off, and not that it went wrong.
  private func isCancellation(_ error: (any Error)?) -> Bool { error is CancellationError }
}

extension SerialOrder {
  /// Step `id` is over: its observers are told, and its record keeps the outcome for the handles.
  mutating func close(
    _ id: Int, in segment: Segment, _ outcome: StepOutcome, _ consequences: inout Consequences?
  ) {
    guard let record = queue.existingRecord(of: id, in: segment) else {
      // Only the events have the outcome.
      if case .failed(let error) = outcome { consequences.needed.release(error) }
      return
    }
    if let unused = record.whenCancelled.take() { consequences.needed.release(unused) }
    if !record.resumptions.isEmpty {
      drop(record.resumptions, &consequences)
      record.resumptions = []
    }
    if !record.observers.isEmpty { consequences.needed.tell(record.takeObservers(), outcome) }
    record.close(outcome)
    if case .failed = outcome {
      // An error is kept by the handles only. This may be the last reference to it.
      consequences.needed.release(record)
      segment.slot(id).pointee.record = record.name.map { StepRecord(record.lock, name: $0) }
    } else if record.name == nil {
      segment.slot(id).pointee.record = nil
    }
  }
}

extension StepOutcome {
  var stage: Slot.Stage {
    switch self {
    case .succeeded: .succeeded
    case .failed: .failed
    case .cancelled: .cancelled
    }
  }
}
