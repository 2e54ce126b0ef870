/// Decides whether to retry.
struct RetryPolicy: Sendable {
  let retries: Int
  let delay: Duration
  let backoff: Backoff
  let condition: @Sendable (any Error) -> Bool

  /// The delay before the next attempt; nil if there is none.
  func pause(after attempts: Int, _ error: any Error) -> Duration? {
    // A cancellation is not retried.
    guard attempts <= retries, !(error is CancellationError), condition(error) else { return nil }
    return delay.countable(times: backoff.factor(after: attempts))
  }
}
