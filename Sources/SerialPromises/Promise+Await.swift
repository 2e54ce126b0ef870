extension Promise {
  /// The value of the promise; suspends until it is settled.
  ///
  /// Demands the promise.
  ///
  /// Canceling the awaiting task ends the wait with a `CancellationError`. It also cancels the
  /// promise, as ``cancel()`` does, unless something else wants its outcome.
  ///
  /// ```swift
  /// let text = try await fetch(url).value
  /// ```
  ///
  /// - Throws: The promise's error, or `CancellationError`; ``PromiseError/deadlock(_:)`` in a step
  ///   that would deadlock, because the promise waits for its turn in that step's manager.
  nonisolated(nonsending) public var value: Value {
    get async throws {
      if erased.lifeline != nil {
        // First, so that the work has the priority from the start.
        core.escalate(to: Task.currentPriority)
        core.demand()
      }
      // Separate function, because the following code needs stack that a settled promise does not.
      if let outcome = core.poll() { return try outcome.get() }
      if RunningStep.current != nil, let step = core.deadlock({ RunningStep.deadlockedStep($0) }) {
        throw PromiseError.deadlock(step)
      }
      let awaiter = Awaiter(core)
      let outcome = await suspended {
        awaiter.wait($0)
        core.escalate(to: Task.currentPriority)
      } onCancel: {
        awaiter.stop()
      } onEscalation: {
        core.escalate(to: $0)
      }
      return try outcome.get()
    }
  }
}

/// A task that awaits a promise.
private final class Awaiter: Reaction, @unchecked Sendable {
  // Sendable because the continuation is set before this is attached to the promise, and
  // resumed once, by the thread that removes this from the promise's list.
  private let core: Core
  private var continuation: UnsafeContinuation<Outcome, Never>?

  init(_ core: Core) {
    self.core = core
  }

  func wait(_ continuation: UnsafeContinuation<Outcome, Never>) {
    self.continuation = continuation
    core.attach(self)
    // The task may have been canceled before the reaction was attached.
    if Task.isCancelled { stop() }
  }

  func stop() {
    if core.withdraw(self, cancelling: true) {
      continuation?.resume(returning: .failure(CancellationError()))
    }
  }

  override func react(to source: Core, _ agenda: inout Agenda) {
    continuation?.resume(returning: core.settledOutcome)
  }
}
