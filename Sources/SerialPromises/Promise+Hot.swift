import Dispatch

extension Promise {
  /// A promise that is fulfilled.
  ///
  /// ```swift
  /// func page(_ url: String) -> Promise<String> {
  ///   if let text = cache[url] { return .value(text) }
  ///   return fetch(url)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - value: Its value.
  ///   - file: Where the promise is made, for diagnostics.
  ///   - line: Where the promise is made, for diagnostics.
  /// - Returns: The promise.
  public static func value(
    _ value: Value, file: StaticString = #fileID, line: UInt = #line
  ) -> Promise {
    Promise(hot: Core(origin: Origin(nil, file, line), .value(value)))
  }

  /// A promise that has failed.
  ///
  /// ```swift
  /// func find(_ url: String) -> Promise<String> {
  ///   url.isEmpty ? .failure(Missing()) : fetch(url)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - error: Why.
  ///   - file: Where the promise is made, for diagnostics.
  ///   - line: Where the promise is made, for diagnostics.
  /// - Returns: The promise.
  public static func failure(
    _ error: any Error, file: StaticString = #fileID, line: UInt = #line
  ) -> Promise {
    Promise(hot: Core(origin: Origin(nil, file, line), .failure(error)))
  }

  /// A promise that is fulfilled after some time; cancelling it ends the wait.
  ///
  /// If the clock throws, the promise fails with its error.
  ///
  /// ```swift
  /// let reminder = Promise.value("Save your work", after: .milliseconds(5))
  /// ```
  ///
  /// - Parameters:
  ///   - value: Its value.
  ///   - delay: How long it takes from now.
  ///   - clock: What measures the time.
  ///   - file: Where the promise is made, for diagnostics.
  ///   - line: Where the promise is made, for diagnostics.
  /// - Returns: The promise.
  public static func value(
    _ value: Value, after delay: Duration, clock: some Clock<Duration> = ContinuousClock(),
    file: StaticString = #fileID, line: UInt = #line
  ) -> Promise {
    later(.value(value), delay, clock, Origin(nil, file, line))
  }

  /// A promise that fails after some time; cancelling it ends the wait.
  ///
  /// If the clock throws, the promise fails with the clock's error instead.
  ///
  /// ```swift
  /// let avatar = Promise.race([fetchAvatar(of: user), .failure(TooSlow(), after: .seconds(30))])
  /// ```
  ///
  /// - Parameters:
  ///   - error: Why.
  ///   - delay: How long it takes from now.
  ///   - clock: What measures the time.
  ///   - file: Where the promise is made, for diagnostics.
  ///   - line: Where the promise is made, for diagnostics.
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

  /// Does some work on a dispatch queue, starting now.
  ///
  /// ```swift
  /// let sum = Promise.on(.global()) { checksum(file) }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where the work runs.
  ///   - file: Where the promise is made, for diagnostics.
  ///   - line: Where the promise is made, for diagnostics.
  ///   - work: Makes the value; throwing fails the promise.
  /// - Returns: The promise of the value.
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
