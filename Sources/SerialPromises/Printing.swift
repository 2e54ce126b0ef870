// Descriptions of promises, steps and managers: name, state and error. Printing starts nothing, and
// does not mark a failure as handled.

extension Promise: CustomStringConvertible {
  /// The name or source location, and the state: `promise "page" (pending)`, `promise "page"
  /// (fulfilled: 42)`, `promise "page" (failed: Missing())`, `promise "page" (not started)`.
  public var description: String {
    let state =
      switch core.poll(handlesFailure: false)?.result(of: Value.self) {
      case nil: core.withLock { $0.isDemanded } ? "pending" : "not started"
      case .success(let value): "fulfilled: \(value)"
      case .failure(let error): "failed: \(error)"
      }
    return "\(core.origin.identity) (\(state))"
  }
}

extension Deferred: CustomStringConvertible {
  /// The description of the promise: `promise "answer" (pending)`.
  public var description: String { promise.description }
}

extension StepOutcome: CustomStringConvertible {
  /// `succeeded`, `cancelled`, or `failed: ` and the error.
  public var description: String {
    switch self {
    case .succeeded: "succeeded"
    case .failed(let error): "failed: \(error)"
    case .cancelled: "cancelled"
    }
  }
}

extension StepHandle.State: CustomStringConvertible {
  /// `waiting`, `running`, or the outcome.
  public var description: String {
    switch self {
    case .waiting: "waiting"
    case .running: "running"
    case .over(let outcome): outcome.description
    }
  }
}

extension StepHandle: CustomStringConvertible {
  /// The name or number, and the state: `step "upload" (waiting)`, `step 3 (failed: Missing())`.
  public var description: String {
    // Not `state`, which marks a failure as received.
    let state = record.lock.withLock { _ in record.state(of: id) }
    return "\(StepIdentity(id: id, name: name)) (\(state))"
  }
}

extension PromiseManager: CustomStringConvertible {
  /// The running step, the number of waiting steps, and why none starts: `PromiseManager (step
  /// "upload" runs, 2 wait)`, `PromiseManager (nothing runs, 2 wait, paused)`.
  public var description: String {
    let (running, waiting, isPaused, isClosed, isThrottled, failure) = order.withLock {
      (
        $0.runningStep, $0.waitingCount, $0.isPaused, $0.isClosed, $0.throttledWait != nil,
        $0.failure
      )
    }
    var parts = [running.map { "\($0) runs" } ?? "nothing runs", "\(waiting) wait"]
    if let failure {
      parts.append("stopped: \(failure)")
    } else if isPaused {
      parts.append("paused")
    }
    if isThrottled { parts.append("held back by the rate") }
    if isClosed { parts.append("closed") }
    return "PromiseManager (\(parts.joined(separator: ", ")))"
  }
}
