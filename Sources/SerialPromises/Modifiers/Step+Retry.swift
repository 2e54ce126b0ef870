extension Promisable {
  /// Runs the step's handler again when it fails.
  ///
  /// The step is one step, and keeps its turn, however many attempts it takes; each gets a `then` of
  /// its own. Cancelling it tells the attempt that runs, and ends the time between two attempts. Once
  /// the step's time is over, or the step is, no attempt begins any more, not even the first. Each
  /// attempt's handler is called where handlers run, and holds up the next step until it has returned.
  /// If the clock throws, the step fails with its error.
  ///
  /// ```swift
  /// manager.add(upload.retry(2, delay: .milliseconds(1), backoff: .exponential))
  /// ```
  ///
  /// - Parameters:
  ///   - retries: How many attempts to make after the first one.
  ///   - delay: How long to wait before the second attempt.
  ///   - backoff: How that time grows.
  ///   - condition: Whether to try again after an error. A cancellation is never tried again.
  ///   - clock: What measures the time.
  /// - Returns: A step that ends as its first successful attempt, or fails with a
  ///   ``RetryError`` that has the last error.
  public func retry(
    _ retries: Int, delay: Duration = .zero, backoff: Backoff = .constant,
    if condition: @escaping @Sendable (any Error) -> Bool = { _ in true },
    clock: some Clock<Duration> = ContinuousClock()
  ) -> Step {
    let attempt = Step(self, handler)
    let policy = RetryPolicy(
      retries: retries, delay: delay, backoff: backoff, condition: condition)
    return Step(self) { then in
      StepAttempts(attempt, policy, clock, then).begin(1)
    }
  }
}

/// The attempts of one step, run one after another by a manager of their own.
///
/// It hands out a `then` for each, and notices what the outer one would: a second call, a dropped
/// one, a cancellation.
private final class StepAttempts<C: Clock<Duration>>: Sendable {
  private let attempt: Step
  private let policy: RetryPolicy
  private let clock: C
  private let then: Then
  private let manager: PromiseManager

  /// The last attempt whose handler was called.
  private let begun = Locked(0)

  init(_ attempt: Step, _ policy: RetryPolicy, _ clock: C, _ then: Then) {
    self.attempt = attempt
    self.policy = policy
    self.clock = clock
    self.then = then
    // Within the step, which is not over while an attempt's handler is on the stack, and begins
    // each when that of the one before has returned.
    manager = PromiseManager(within: then)
    // A further attempt counts when it has come further than those before.
    manager.order.withLock { $0.onProgress { then.advance(to: $0) } }
    then.onCancel { [manager] in manager.cancelAll() }
  }

  func begin(_ number: Int) {
    // Paused, so that its end is told on its own stack, and not here if it is over already.
    manager.pause()
    let handle = manager.add(
      Step(attempt.name) { [attempt, begun] then in
        begun.withLock { $0 = number }
        attempt.handler(then)
      })
    handle.observe { outcome in self.ended(number, outcome) }
    manager.resume()
  }

  private func ended(_ number: Int, _ outcome: StepOutcome) {
    switch outcome {
    case .succeeded: then()
    case .cancelled where begun.withLock({ $0 < number }):
      // Not through `then`: after the step has ended, no attempt could have called it late.
      then.token.lock.failBeforeStart(then.token.id, CancellationError())
    case .cancelled: then.endCancelled()
    case .failed(let error):
      // A step that is over is not cancelled any more: its work would go on beside the next steps.
      guard then.isWanted, let pause = policy.pause(after: number, error) else {
        return then(policy.failure(after: number, error))
      }
      guard pause > .zero else { return begin(number + 1) }
      then.pause(pause, clock) { _ in self.begin(number + 1) }
    }
  }
}
