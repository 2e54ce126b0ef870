extension Promise {
  /// Retries the promise when it fails.
  ///
  /// Restarts the cold promises that this one was derived from. A promise whose work has started
  /// before this call cannot be restarted: this is reported as ``Diagnostic/cannotRetry(_:)``, and
  /// there is a single attempt.
  ///
  /// An attempt takes time proportional to the number of restarted links.
  ///
  /// ```swift
  /// let page = Promise { try await load(url) }
  ///   .map { data in try parse(data) }
  ///   .retry(3, delay: .seconds(1), backoff: .exponential)
  /// ```
  ///
  /// - Parameters:
  ///   - retries: The maximum number of attempts after the first.
  ///   - delay: The delay before the second attempt.
  ///   - backoff: The growth of the delay.
  ///   - condition: Whether to retry after an error. A cancellation is never retried.
  ///   - clock: The clock that measures the delay.
  /// - Returns: A promise of the first value. If all attempts fail, it fails with a ``RetryError``
  ///   with the last error.
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
    recover { [origin = core.origin] error in
      guard let restart, let pause = policy.pause(after: attempt, error) else {
        throw policy.failure(after: attempt, error)
      }
      let next = { @Sendable in
        Promise(restart()).retry(policy, clock, attempt: attempt + 1, restart)
      }
      return pause > .zero ? Promise<Void>(pausing: pause, clock, origin).then(next) : next()
    }
  }
}

extension Promise<Void> {
  /// Creates a cold promise that is fulfilled after a pause.
  ///
  /// A hot one could be fulfilled before its link joins the steps that the next attempt works for, and
  /// the attempt would then not be marked with them.
  fileprivate init(pausing pause: Duration, _ clock: some Clock<Duration>, _ origin: Origin) {
    self.init(cold: origin) { deferred in
      let timer = Timer(after: pause, on: clock) { failure in
        if let failure { deferred.tryFail(failure) } else { deferred.tryFulfill(()) }
      }
      deferred.onCancel { timer.cancel() }
    }
  }
}
