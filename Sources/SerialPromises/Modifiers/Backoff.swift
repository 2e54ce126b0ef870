/// How the time before each further attempt grows.
///
/// ```swift
/// let slower = page.retry(4, delay: .seconds(1), backoff: .exponential)  // after 1, 2, 4, 8 s
/// let steady = page.retry(4, delay: .seconds(1), backoff: .linear)  // after 1, 2, 3, 4 s
/// let stubborn = page.retry(4, delay: .seconds(1), backoff: .constant)  // after 1, 1, 1, 1 s
/// ```
public enum Backoff: Sendable, Hashable {
  /// The same each time.
  case constant

  /// Once, twice, three times the delay, and so on.
  case linear

  /// Doubled each time.
  case exponential

  /// How many times the delay to wait after so many attempts.
  func factor(after attempts: Int) -> Int {
    switch self {
    case .constant: 1
    case .linear: attempts
    // More would be years even of milliseconds, and in the end too much for an integer.
    case .exponential: 1 << min(attempts - 1, 40)
    }
  }
}

/// What was tried several times failed each time.
///
/// ```swift
/// fetch("missing").retry(2).catch { error in
///   guard let failure = error as? RetryError else { throw error }
///   show("\(failure.attempts) attempts: \(failure.lastError)")
/// }
/// ```
public struct RetryError: Error, CustomStringConvertible {
  /// Why the last attempt failed.
  ///
  /// ```swift
  /// fetch("missing").retry(2).catch { error in
  ///   guard let failure = error as? RetryError else { throw error }
  ///   show("\(failure.attempts) attempts: \(failure.lastError)")
  /// }
  /// ```
  public var lastError: any Error { causes.errors[0] }

  /// How many attempts there were, the first one included.
  ///
  /// ```swift
  /// fetch("missing").retry(2).catch { error in
  ///   guard let failure = error as? RetryError else { throw error }
  ///   show("\(failure.attempts) attempts: \(failure.lastError)")
  /// }
  /// ```
  public let attempts: Int

  let causes: ErrorList

  init(lastError: any Error, attempts: Int) {
    causes = ErrorList([lastError])
    self.attempts = attempts
  }

  /// How often it was tried, and why it failed in the end.
  public var description: String { joinedParts }
}

extension RetryError: NestedError {
  var parts: [NestedErrorPart] {
    [.text("failed in \(attempts) \(attempts == 1 ? "attempt" : "attempts"): "), .error(lastError)]
  }
}

/// Decides whether to try again.
struct RetryPolicy: Sendable {
  let retries: Int
  let delay: Duration
  let backoff: Backoff
  let condition: @Sendable (any Error) -> Bool

  /// How long to wait before the next attempt; nil if this was the last one.
  func pause(after attempts: Int, _ error: any Error) -> Duration? {
    // Who calls the work off does not want it again.
    guard attempts <= retries, !(error is CancellationError), condition(error) else { return nil }
    return delay.countable(times: backoff.factor(after: attempts))
  }

  /// The error to end with.
  func failure(after attempts: Int, _ error: any Error) -> any Error {
    error is CancellationError ? error : RetryError(lastError: error, attempts: attempts)
  }
}
