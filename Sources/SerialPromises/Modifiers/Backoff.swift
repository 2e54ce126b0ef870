/// How the delay between attempts grows.
///
/// ```swift
/// // Attempts after 1, 2, 4 and 8 seconds.
/// let slower = page.retry(4, delay: .seconds(1), backoff: .exponential)
/// // Attempts after 1, 2, 3 and 4 seconds.
/// let steady = page.retry(4, delay: .seconds(1), backoff: .linear)
/// // An attempt after each second.
/// let stubborn = page.retry(4, delay: .seconds(1), backoff: .constant)
/// ```
public enum Backoff: Sendable, Hashable {
  /// The same delay each time.
  case constant

  /// One, two, three times the delay, and so on.
  case linear

  /// Twice the previous delay each time.
  case exponential

  /// The factor of the delay after a number of attempts.
  func factor(after attempts: Int) -> Int {
    switch self {
    case .constant: 1
    case .linear: attempts
    // Limited to avoid overflow: the factor already amounts to years for a delay of milliseconds.
    case .exponential: 1 << min(attempts - 1, 40)
    }
  }
}

/// The error of `retry` if all attempts fail.
///
/// ```swift
/// fetch("missing").retry(2).catch { error in
///   guard let failure = error as? RetryError else { throw error }
///   show("\(failure.attempts) attempts: \(failure.lastError)")
/// }
/// ```
public struct RetryError: Error, CustomStringConvertible {
  /// The error of the last attempt.
  ///
  /// ```swift
  /// fetch("missing").retry(2).catch { error in
  ///   guard let failure = error as? RetryError else { throw error }
  ///   show("\(failure.attempts) attempts: \(failure.lastError)")
  /// }
  /// ```
  public var lastError: any Error { causes.errors[0] }

  /// The number of attempts, including the first.
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

  /// The number of attempts and the last error.
  public var description: String { joinedParts }
}

extension RetryError: NestedError {
  var parts: [Any] {
    ["failed in \(attempts) \(attempts == 1 ? "attempt" : "attempts"): ", lastError]
  }
}
