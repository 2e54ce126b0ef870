extension Promise {
  /// The value, once it is there; demands it.
  ///
  /// Cancelling the task that awaits ends the wait with a `CancellationError`, and cancels the
  /// promise as ``cancel()`` does if nobody else wants its outcome.
  ///
  /// ```swift
  /// let text = try await fetch(url).value
  /// ```
  ///
  /// - Throws: Why the promise failed, or `CancellationError`; ``PromiseError/deadlock(_:)`` in a
  ///   step that would wait for itself, because the promise waits for its turn in that step's manager.
  nonisolated(nonsending) public var value: Value {
    get async throws {
      if erased.lifeline != nil { core.demand() }
      // Separate function, because the following code needs stack that a settled promise does not.
      if let outcome = core.poll() { return try outcome.get() }
      if RunningStep.current != nil, let step = core.deadlock(RunningStep.deadlockedStep) {
        throw PromiseError.deadlock(step)
      }
      return try await settledValue()
    }
  }

  nonisolated(nonsending) private func settledValue() async throws -> Value {
    let awaiter = Awaiter<Value>(core)
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { awaiter.wait($0) }
    } onCancel: {
      awaiter.stop()
    }
  }
}

/// A task that awaits a promise.
private final class Awaiter<Value: Sendable>: Reaction, @unchecked Sendable {
  // Sendable as its superclass is: the continuation is set before the promise knows of this, and
  // is resumed once, by whoever takes this out of the promise's list.
  private let core: Core
  private var continuation: UnsafeContinuation<Value, any Error>?

  init(_ core: Core) {
    self.core = core
  }

  func wait(_ continuation: UnsafeContinuation<Value, any Error>) {
    self.continuation = continuation
    core.attach(self)
    // The task may have been cancelled before there was anything to withdraw.
    if Task.isCancelled { stop() }
  }

  func stop() {
    if core.withdraw(self, cancelling: true) {
      continuation?.resume(throwing: CancellationError())
    }
  }

  override var passesProgress: Bool { false }

  override func react(to source: Core, _ agenda: inout Agenda) {
    if let continuation { core.settledOutcome.resume(continuation) }
  }
}
