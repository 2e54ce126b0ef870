/// When the next step may begin: no more of them in any interval than the rate says.
///
/// Touched only under the lock. Times are counted from the same moment, which it does not know.
final class Throttle {
  private let rate: Rate

  /// When the last steps began: a ring, once it is full.
  private var starts: [Duration] = []
  private var oldest = 0

  /// How long to wait, as long as the order is throttled, and which wait that is.
  private(set) var wait: (duration: Duration, ticket: Int) = (.zero, 0)

  /// What ends the wait.
  var timer: Timer?

  /// Whether the wait was over, and no step has begun since.
  var hasWaited = false

  init(_ rate: Rate) {
    self.rate = rate
  }

  /// How long a step has to wait that would begin now.
  func delay(at time: Duration) -> Duration {
    starts.count < rate.starts ? .zero : max(.zero, starts[oldest] + rate.interval.countable - time)
  }

  /// A step begins.
  func begin(at time: Duration) {
    hasWaited = false
    if starts.count < rate.starts {
      starts.append(time)
    } else {
      starts[oldest] = time
      oldest = (oldest + 1) % rate.starts
    }
  }

  func beginWait(_ duration: Duration) {
    wait = (duration, wait.ticket + 1)
  }
}

extension SerialOrder {
  /// As `next`, for one who has read the time, since the manager was made: asks the rate whether a step
  /// may begin.
  @inline(never)
  mutating func next(at time: Duration, _ consequences: inout Consequences?) -> Turn {
    guard let throttle else { return next(&consequences) }
    if allowance == 0 {
      let turn = next(&consequences)
      // If the only step of this turn is the next one, it has an allowance now.
      guard case .readTime = turn.move else { return turn }
    }
    let delay = throttle.delay(at: time)
    if delay > .zero, !throttle.hasWaited, !isPaused, waitingCount > 0 {
      phase = .throttled
      throttle.beginWait(delay)
      if !waiters.isEmpty { wake(.atRest, &consequences) }
      return Turn(move: .leave)
    }
    allowance.negate()
    // Only this look has the time: another one is later.
    defer { allowance.negate() }
    let turn = next(&consequences)
    // Not before the wait was to end, whatever the clock says: or the next wait would be too short.
    if case .run = turn.move { throttle.begin(at: time + delay) }
    return turn
  }

  /// How long to wait before the claim is to be taken again.
  var throttledWait: (duration: Duration, ticket: Int)? {
    phase == .throttled ? throttle?.wait : nil
  }

  /// Keeps what ends a wait, if that is still awaited.
  mutating func keep(_ timer: Timer, _ ticket: Int) {
    if let throttle, throttledWait?.ticket == ticket { throttle.timer = timer }
  }

  /// A wait is over.
  ///
  /// - Returns: Whether the caller holds the claim now: that wait was not called off.
  mutating func waited(_ ticket: Int, _ consequences: inout Consequences?) -> ThenResult {
    guard let throttle, throttledWait?.ticket == ticket else { return .late }
    throttle.hasWaited = true
    if let timer = throttle.timer.take() { consequences.needed.release(timer) }
    phase = .claimed
    return .claimed(owner)
  }

  /// Nothing is to begin when the wait is over: nothing waits any more, or the queue is paused.
  mutating func callOffWait(_ consequences: inout Consequences?) {
    guard phase == .throttled else { return }
    phase = .resting
    // The clock may be the user's. The manager may have been alive for this only.
    if let timer = throttle?.timer.take() { consequences.needed.release(timer) }
    if let owner = owner.take() { consequences.needed.release(owner) }
  }

  /// Begins no further step until it is resumed.
  mutating func pause(_ consequences: inout Consequences?) {
    isPaused = true
    // Or an unreferenced manager would stay alive for it.
    callOffWait(&consequences)
  }
}
