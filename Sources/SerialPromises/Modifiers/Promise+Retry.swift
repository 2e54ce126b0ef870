extension Promise {
  /// Begins again when the promise fails.
  ///
  /// What is cold begins again, from its closures on; a promise whose work had begun when this was
  /// called cannot, which is reported as ``Diagnostic/cannotRetry(_:)``, and is tried once.
  ///
  /// Takes time in proportion to the links from which it begins again.
  ///
  /// ```swift
  /// let page = Promise { try await load(url) }
  ///   .map { data in try parse(data) }
  ///   .retry(3, delay: .seconds(1), backoff: .exponential)
  /// ```
  ///
  /// - Parameters:
  ///   - retries: How many attempts to make after the first one.
  ///   - delay: How long to wait before the second attempt.
  ///   - backoff: How that time grows.
  ///   - condition: Whether to try again after an error. A cancellation is never tried again.
  ///   - clock: What measures the time.
  /// - Returns: A promise of the first value; if there is none, it fails with a ``RetryError``
  ///   that has the last error.
  public func retry(
    _ retries: Int, delay: Duration = .zero, backoff: Backoff = .constant,
    if condition: @escaping @Sendable (any Error) -> Bool = { _ in true },
    clock: some Clock<Duration> = ContinuousClock()
  ) -> Promise {
    let restart = Restart(core)
    if restart == nil { core.origin.report(.cannotRetry(core.origin.identity)) }
    let policy = RetryPolicy(
      retries: retries, delay: delay, backoff: backoff, condition: condition)
    return retry(policy, clock, attempt: 1, restart)
  }

  private func retry(
    _ policy: RetryPolicy, _ clock: some Clock<Duration>, attempt: Int,
    _ restart: Restart?
  ) -> Promise {
    recover { error in
      guard let restart, let pause = policy.pause(after: attempt, error) else {
        throw policy.failure(after: attempt, error)
      }
      let next = { @Sendable in
        Promise(restart()).retry(policy, clock, attempt: attempt + 1, restart)
      }
      return pause > .zero ? Promise<Void>.value((), after: pause, clock: clock).then(next) : next()
    }
  }
}
