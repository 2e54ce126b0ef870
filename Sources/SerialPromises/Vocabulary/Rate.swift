/// How many steps of a manager may begin in any interval of time.
///
/// Not so many per second by the wall clock, but so many in any second: between the beginning of a step
/// and that of the one that comes so many steps later, the whole interval passes. Further attempts of a
/// step that is retried are part of that step, and not counted.
///
/// A manager that waits for its rate is not idle, and stays alive. Time is measured by the manager's
/// `clock:`. A wait that the clock ends early, or cannot measure because it throws, counts as over: the
/// step begins, and is counted from when the wait should have ended.
///
/// ```swift
/// let polite = PromiseManager(rate: Rate(10, per: .seconds(1)), timeLimit: .seconds(30))
/// ```
public struct Rate: Sendable, Hashable {
  /// How many steps may begin in an interval.
  ///
  /// ```swift
  /// let rate = Rate(10, per: .seconds(1))
  /// let shown = "\(rate.starts) per \(rate.interval)"  // 10 per 1.0 seconds
  /// ```
  public let starts: Int

  /// The interval.
  ///
  /// ```swift
  /// let rate = Rate(10, per: .seconds(1))
  /// let shown = "\(rate.starts) per \(rate.interval)"  // 10 per 1.0 seconds
  /// ```
  public let interval: Duration

  /// Makes a rate.
  ///
  /// ```swift
  /// let rate = Rate(10, per: .seconds(1))
  /// let shown = "\(rate.starts) per \(rate.interval)"  // 10 per 1.0 seconds
  /// ```
  ///
  /// - Parameters:
  ///   - starts: How many steps may begin in an interval, at least 1. So many times are kept.
  ///   - interval: The interval.
  public init(_ starts: Int, per interval: Duration) {
    precondition(starts > 0, "a rate has at least 1 start")
    self.starts = starts
    self.interval = interval
  }
}
