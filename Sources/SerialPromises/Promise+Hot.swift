import Dispatch

extension Promise {
  /// Creates a fulfilled promise.
  ///
  /// ```swift
  /// func page(_ url: String) -> Promise<String> {
  ///   if let text = cache[url] { return .value(text) }
  ///   return fetch(url)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - file: The source location, for diagnostics.
  ///   - line: The source location, for diagnostics.
  /// - Returns: The promise.
  public static func value(
    _ value: Value, file: StaticString = #fileID, line: UInt = #line
  ) -> Promise {
    Promise(hot: Core(origin: Origin(nil, file, line), .value(value)))
  }

  /// Creates a failed promise.
  ///
  /// ```swift
  /// func find(_ url: String) -> Promise<String> {
  ///   url.isEmpty ? .failure(Missing()) : fetch(url)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - error: The error.
  ///   - file: The source location, for diagnostics.
  ///   - line: The source location, for diagnostics.
  /// - Returns: The promise.
  public static func failure(
    _ error: any Error, file: StaticString = #fileID, line: UInt = #line
  ) -> Promise {
    Promise(hot: Core(origin: Origin(nil, file, line), .failure(error)))
  }

  /// Creates a promise that is fulfilled after a delay.
  ///
  /// Canceling it ends the wait.
  ///
  /// If the clock throws, the promise fails with the clock's error.
  ///
  /// ```swift
  /// let reminder = Promise.value("Save your work", after: .milliseconds(5))
  /// ```
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - delay: The delay from now.
  ///   - clock: The clock that measures the delay.
  ///   - file: The source location, for diagnostics.
  ///   - line: The source location, for diagnostics.
  /// - Returns: The promise.
  public static func value(
    _ value: Value, after delay: Duration, clock: some Clock<Duration> = ContinuousClock(),
    file: StaticString = #fileID, line: UInt = #line
  ) -> Promise {
    later(.value(value), delay, clock, Origin(nil, file, line))
  }

  /// Creates a promise that fails after a delay.
  ///
  /// Canceling it ends the wait.
  ///
  /// If the clock throws, the promise fails with the clock's error instead.
  ///
  /// ```swift
  /// let late = Promise<String>.failure(TooSlow(), after: .seconds(30))
  /// let avatar = Promise.race([fetchAvatar(of: user), late])
  /// ```
  ///
  /// - Parameters:
  ///   - error: The error.
  ///   - delay: The delay from now.
  ///   - clock: The clock that measures the delay.
  ///   - file: The source location, for diagnostics.
  ///   - line: The source location, for diagnostics.
  /// - Returns: The promise.
  public static func failure(
    _ error: any Error, after delay: Duration, clock: some Clock<Duration> = ContinuousClock(),
    file: StaticString = #fileID, line: UInt = #line
  ) -> Promise {
    later(.failure(error), delay, clock, Origin(nil, file, line))
  }

  static func later(
    _ outcome: Outcome, _ delay: Duration, _ clock: some Clock<Duration>,
    _ origin: Origin
  ) -> Promise {
    let core = Core(origin: origin)
    let timer = Timer(after: delay, on: clock) { failure in
      core.settle(failure.map(Outcome.failure) ?? outcome, by: .owner)
    }
    core.onCancel { timer.cancel() }
    return Promise(hot: core)
  }

  /// Runs synchronous work on a dispatch queue, starting immediately.
  ///
  /// ```swift
  /// let sum = Promise.on(.global()) { checksum(file) }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: The queue of the work.
  ///   - file: The source location, for diagnostics.
  ///   - line: The source location, for diagnostics.
  ///   - work: Returns the value; throwing fails the promise.
  /// - Returns: A promise of the value.
  public static func on(
    _ queue: DispatchQueue, file: StaticString = #fileID, line: UInt = #line,
    _ work: @escaping @Sendable () throws -> Value
  ) -> Promise {
    let traits = Core.Traits(
      origin: Origin(nil, file, line), runsOnMainQueue: MainQueue.is(queue))
    let core = Core(traits, isDemanded: true, hasProducer: true)
    queue.async { core.settle(Outcome(Result(catching: work)), by: .owner) }
    return Promise(hot: core)
  }
}
