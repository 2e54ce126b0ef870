extension Promisable {
  /// Runs the step's handler again when it fails.
  ///
  /// All attempts are a single step with a single turn; each has its own `then`. Canceling the step
  /// cancels the running attempt and ends a delay between attempts. After the step has timed out or
  /// ended, no further attempt starts, not even the first. Each attempt's handler runs where
  /// handlers run, and the next step waits until it returns. If the clock throws, the step fails
  /// with the clock's error.
  ///
  /// ```swift
  /// manager.add(upload.retry(2, delay: .milliseconds(1), backoff: .exponential))
  /// ```
  ///
  /// - Parameters:
  ///   - retries: The maximum number of attempts after the first.
  ///   - delay: The delay before the second attempt.
  ///   - backoff: The growth of the delay.
  ///   - condition: Whether to retry after an error. A cancellation is never retried.
  ///   - clock: The clock that measures the delay.
  /// - Returns: A step that succeeds with its first successful attempt, or fails with a
  ///   ``RetryError`` with the last error.
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

/// The attempts of a step, run one after another by an internal manager.
///
/// That manager gives each attempt its own `then`, and detects a second call, a dropped `then` and
/// a cancellation.
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
    // Within the step, which does not end while an attempt's handler is on the stack. Each attempt
    // starts after the handler of the previous one has returned.
    manager = PromiseManager(within: then)
    // The progress of a further attempt counts when it exceeds that of the previous ones.
    manager.order.withLock { $0.onProgress { then.advance(to: $0) } }
    then.onCancel { [manager] in manager.cancelAll() }
  }

  func begin(_ number: Int) {
    // Paused, so that an attempt that ends immediately is observed on its own stack, not on this
    // one.
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
      // A step that has ended is no longer canceled: a further attempt would overlap with the next
      // steps.
      guard then.isWanted, let pause = policy.pause(after: number, error) else {
        return then(policy.failure(after: number, error))
      }
      guard pause > .zero else { return begin(number + 1) }
      then.pause(pause, clock) { _ in self.begin(number + 1) }
    }
  }
}
