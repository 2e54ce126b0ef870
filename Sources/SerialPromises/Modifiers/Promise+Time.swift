extension Promise {
  /// Delays the value.
  ///
  /// A failure is passed on immediately.
  ///
  /// Canceling the new promise ends the delay. If the clock throws, the promise fails with the
  /// clock's error.
  ///
  /// ```swift
  /// let later = fetch(url).delay(.milliseconds(5))
  /// ```
  ///
  /// - Parameters:
  ///   - duration: The delay, from the fulfillment of this promise.
  ///   - clock: The clock that measures the delay.
  /// - Returns: A promise of the same value.
  public func delay(
    _ duration: Duration, clock: some Clock<Duration> = ContinuousClock()
  ) -> Promise {
    link(.passage, on: nil) { [origin = core.origin] outcome in
      if case .failure = outcome { return try .passOn(outcome) }
      return .promise(Promise.later(outcome, duration, clock, origin).erased)
    }
  }

  /// Fails if the promise takes longer than a time limit.
  ///
  /// The promise itself is then canceled, if possible, unless something else wants its outcome.
  /// Otherwise **its work may still be running**, and the new promise ignores its outcome. If the
  /// clock throws, the time limit counts as exceeded: the promise fails with the clock's error.
  ///
  /// ```swift
  /// let avatar = fetchAvatar(of: user).timeout(.seconds(30))
  /// ```
  ///
  /// - Parameters:
  ///   - duration: The time limit, from now or, if the promise is cold and has not started, from
  ///     the demand for the new one.
  ///   - clock: The clock that measures the time limit.
  /// - Returns: A promise with the same outcome, or the failure ``PromiseError/timedOut(_:)``.
  public func timeout(
    _ duration: Duration, clock: some Clock<Duration> = ContinuousClock()
  ) -> Promise {
    Promise(erased.timeout(duration, clock))
  }
}

extension AnyPromise {
  func timeout(_ duration: Duration, _ clock: some Clock<Duration>) -> AnyPromise {
    let link = TimeoutLink(traits(.limit), duration, clock)
    link.withLock { $0.wait(toStart: link) }
    link.depend(on: .linked(core))
    // Not attached as a link, which inherits the demand of its source: the demand starts the timer.
    core.attach(link)
    if core.withLock({ $0.isDemanded }) { link.demand() }
    return AnyPromise(core: link, lifeline: lifeline)
  }
}

/// Passes an outcome on within the time limit; starts the timer when it is demanded.
private final class TimeoutLink<C: Clock<Duration>>: Core, Recipe, @unchecked Sendable {
  // Sendable as its superclass: adds only constants.
  private let duration: Duration
  private let clock: C

  init(_ traits: Traits, _ duration: Duration, _ clock: C) {
    self.duration = duration
    self.clock = clock
    super.init(traits, isDemanded: false)
  }

  override var target: Core? { self }

  override func react(to source: Core, _ agenda: inout Agenda) {
    settle(source.settledOutcome, by: .adopted, reached: source.progress, &agenda)
  }

  override var recipe: Restart.Make? {
    { [duration, clock] in $0[0].timeout(duration, clock) }
  }

  var isCancellable: Bool { false }
  // A link is made again by its `recipe`.
  var copy: (@Sendable (Core.Traits) -> AnyPromise)? { nil }

  func start(_ core: Core) {
    // Nil if this was canceled or settled in between.
    guard case .one(let source, _, _) = sources else { return }
    let timer = Timer(after: duration, on: clock) { [self, source] failure in
      let error: any Error = failure ?? PromiseError.timedOut(duration)
      // Decides what came first: once withdrawn, the link is not settled by its source. The source
      // is canceled before the failure, which announces it.
      let scopes = withLock { $0.scopes }
      // The source counts only until the withdrawal.
      updateProgress()
      guard source.withdraw(self, cancelling: true, for: scopes) else { return }
      settle(.failure(error), by: .adopted)
    }
    // Released, with the timer, when the promise is settled.
    onCancel { timer.cancel() }
  }
}
