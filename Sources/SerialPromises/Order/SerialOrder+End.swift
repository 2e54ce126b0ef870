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
    if error == nil {
      slot.pointee.stage = .succeeded
    } else {
      let isCancelled = isCancelRequested && !isTimedOut && isCancellation(error)
      slot.pointee.stage = isCancelled ? .cancelled : .failed
      segment.record(of: id).error = error
    }
    let outcome = segment.outcome(of: id)
    if isCancelRequested || !cancelHandlers.isEmpty {
      isCancelRequested = false
      isGraceOver = false
      // Their release may run somebody's code.
      consequences.needed.release(cancelHandlers)
      cancelHandlers = []
    }
    if let record = slot.pointee.record {
      if !record.resumptions.isEmpty {
        drop(record.resumptions, &consequences)
        record.resumptions = []
      }
      if !record.observers.isEmpty {
        consequences.needed.tell(record.takeObservers(), outcome)
      }
    }
    if let feed, feed.isWatched { feed.ended(segment.identity(of: id), outcome) }
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
      cancelWaiting(&consequences)
    }
  }

  /// Whether the error says that the work was called off, and not that it went wrong.
  private func isCancellation(_ error: (any Error)?) -> Bool {
    if error is CancellationError { return true }
    if case .cancelled = error as? PromiseError { return true }
    return false
  }
}

extension Segment {
  /// How the step ended; only for a step that is over.
  func outcome(of id: Int) -> StepOutcome {
    let slot = slots + (id - base)
    return switch slot.pointee.stage {
    case .failed: .failed(slot.pointee.record?.error ?? PromiseError.cancelled(identity(of: id)))
    case .cancelled: .cancelled
    case .waiting, .running, .succeeded: .succeeded
    }
  }
}

extension StepRecord {
  func takeObservers() -> [@Sendable (StepOutcome) -> Void] {
    defer { observers = [] }
    return observers
  }
}
