/// A limit on the number of steps that a manager starts in any interval of a given length.
///
/// The limit applies to every interval, not to each second of the wall clock: with a rate of *n*, a
/// whole interval passes from the start of a step to the start of the *n*th step after it.
///
/// A manager that waits for its rate is not idle and stays alive. The manager's `clock:` measures
/// the time. A wait that the clock ends early, or cannot measure because it throws, counts as
/// finished: the step starts, and counts from the planned end of the wait.
///
/// ```swift
/// let polite = PromiseManager(rate: Rate(10, per: .seconds(1)))
/// ```
public struct Rate: Sendable, Hashable {
  /// The maximum number of starts in an interval.
  ///
  /// ```swift
  /// let rate = Rate(10, per: .seconds(1))
  /// let shown = "\(rate.starts) per \(rate.interval)"  // 10 per 1.0 seconds
  /// ```
  public let starts: Int

  /// The length of the interval.
  ///
  /// ```swift
  /// let rate = Rate(10, per: .seconds(1))
  /// let shown = "\(rate.starts) per \(rate.interval)"  // 10 per 1.0 seconds
  /// ```
  public let interval: Duration

  /// Creates a rate.
  ///
  /// ```swift
  /// let rate = Rate(10, per: .seconds(1))
  /// let shown = "\(rate.starts) per \(rate.interval)"  // 10 per 1.0 seconds
  /// ```
  ///
  /// - Parameters:
  ///   - starts: The maximum number of starts in an interval, at least 1. The manager stores as
  ///     many times.
  ///   - interval: The interval.
  public init(_ starts: Int, per interval: Duration) {
    require(starts > 0, "a rate has at least 1 start")
    self.starts = starts
    self.interval = interval
  }
}
