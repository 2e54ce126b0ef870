extension Promise {
  /// Retries the promise when it fails.
  ///
  /// Restarts the cold promises that this one was derived from. A promise whose work has started
  /// before this call, for instance one of `enqueue`, cannot be restarted, nor one that iterates a
  /// sequence that is not a collection: this is reported as ``Diagnostic/cannotRetry(_:)``, and
  /// there is a single attempt. To retry a step, add a retried promise.
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
    let restart = Restart.of(core)
    if restart == nil { core.origin.report(.cannotRetry(core.origin.identity)) }
    let policy = RetryPolicy(
      retries: retries, delay: delay, backoff: backoff, condition: condition)
    return Promise(erased.retry(policy, clock, attempt: 1, restart))
  }
}

extension AnyPromise {
  fileprivate func retry(
    _ policy: RetryPolicy, _ clock: some Clock<Duration>, attempt: Int, _ restart: Restart?
  ) -> AnyPromise {
    let handler: LinkHandler = { [origin = core.origin] outcome in
      guard case .failure(let error) = outcome else { return try .passOn(outcome) }
      guard let restart, let pause = policy.pause(after: attempt, error) else {
        throw error is CancellationError ? error : RetryError(lastError: error, attempts: attempt)
      }
      let next = { @Sendable in
        restart().retry(policy, clock, attempt: attempt + 1, restart)
      }
      guard pause > .zero else { return .promise(next()) }
      // Cold: a hot promise could be fulfilled before its link joins the steps that the next
      // attempt works for, and the attempt would then not be marked with them.
      let wait = Promise<Void>(cold: Core.Traits(origin: origin)) {
        $0.adopt(.later(.value(()), pause, clock, origin))
      }
      return .promise(
        wait.erased.link(.step, on: nil) {
          _ = try Decision.passOn($0)
          return .promise(next())
        })
    }
    let again: Restart.Make = {
      $0[0].retry(policy, clock, attempt: 1, Restart.of($0[0].core))
    }
    return link(.passage, .retry(handler, again: again))
  }
}
