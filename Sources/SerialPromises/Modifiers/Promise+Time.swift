extension Promise {
  /// Lets the value wait; a failure goes on at once.
  ///
  /// Cancelling the new promise ends the wait. If the clock throws, the promise fails with its error.
  ///
  /// ```swift
  /// let later = fetch(url).delay(.milliseconds(5))
  /// ```
  ///
  /// - Parameters:
  ///   - duration: How long, from the moment that the value is there.
  ///   - clock: What measures the time.
  /// - Returns: A promise of the same value, later.
  public func delay(
    _ duration: Duration, clock: some Clock<Duration> = ContinuousClock()
  ) -> Promise {
    link(.passage, on: nil) { [origin = core.origin] outcome in
      .promise(Promise.later(.value(try outcome.passOn()), duration, clock, origin).erased)
    }
  }

  /// Fails when the promise takes too long.
  ///
  /// The promise itself is cancelled then, if it can be and nobody else wants its outcome.
  /// Otherwise **its work may still be going on**; its outcome is ignored here. A time that the clock
  /// cannot measure, because it throws, counts as over: the promise fails with the clock's error.
  ///
  /// ```swift
  /// let avatar = fetchAvatar(of: user).timeout(.seconds(30))
  /// ```
  ///
  /// - Parameters:
  ///   - duration: How long it may take, from now or, if the promise is cold and has not been
  ///     started, from the moment that the new one is demanded.
  ///   - clock: What measures the time.
  /// - Returns: A promise that ends as this one, or fails with ``PromiseError/timedOut(_:)``.
  public func timeout(
    _ duration: Duration, clock: some Clock<Duration> = ContinuousClock()
  ) -> Promise {
    Promise(erased.timeout(duration, clock))
  }
}

extension AnyPromise {
  func timeout(_ duration: Duration, _ clock: some Clock<Duration>) -> AnyPromise {
    let link = TimeoutLink(traits(.passage), duration, clock)
    link.withLock { $0.recipe = TimeoutRecipe(link: link, source: core) }
    link.depend(on: Upstream(core))
    // Not attached as a link, which inherits the demand of its source: the demand starts the timer.
    core.attach(link)
    if core.withLock({ $0.isDemanded }) { link.demand() }
    return AnyPromise(core: link, lifeline: lifeline)
  }
}

/// Passes an outcome on, unless it comes too late.
private final class TimeoutLink<C: Clock<Duration>>: Link, @unchecked Sendable {
  // Sendable as its superclass is: it adds constants only.
  let duration: Duration
  let clock: C

  init(_ traits: Traits, _ duration: Duration, _ clock: C) {
    self.duration = duration
    self.clock = clock
    super.init(traits, isDemanded: false)
  }

  override var isImmediate: Bool { true }
  override var isExclusive: Bool { false }

  override func react(to source: Core, _ agenda: inout Agenda) {
    let outcome = source.settledOutcome
    settle(after: source, outcome, &agenda, Decision.passOn)
  }

  override var recipe: (@Sendable (AnyPromise) -> AnyPromise)? {
    { [duration, clock] in $0.timeout(duration, clock) }
  }
}

/// Starts the time when the promise is demanded.
private struct TimeoutRecipe<C: Clock<Duration>>: Recipe {
  let link: TimeoutLink<C>
  let source: Core

  var settles: Bool { false }

  func start(_ core: Core) {
    let duration = link.duration
    let timer = Timer(after: duration, on: link.clock) { [link, source] failure in
      let error: any Error = failure ?? PromiseError.timedOut(duration)
      // Before it is settled, after which it is at work for nothing.
      let scopes = link.withLock { $0.scopes }
      guard link.settle(.failure(error), by: .adopted) else { return }
      _ = source.withdraw(link, cancelling: true, for: scopes)
    }
    // Released, and with it the timer, when the promise is settled.
    core.onCancel { timer.cancel() }
  }

  func copy(_ origin: Origin) -> AnyPromise {
    AnyPromise(core: link, lifeline: nil)
  }
}
