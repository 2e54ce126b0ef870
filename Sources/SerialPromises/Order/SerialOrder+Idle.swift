extension SerialOrder {
  /// Whether nothing runs, and nothing is about to begin.
  var isAtRest: Bool {
    // The thread with the claim begins what waits, unless the queue is paused.
    !isRunning && (phase != .claimed || isPaused || waitingCount == 0)
  }

  /// Whether that is so which is waited for.
  func holds(_ condition: Waiters.Condition) -> Bool {
    switch condition {
    case .idle: isIdle
    case .atRest: isAtRest
    case .fewerWait(let limit): waitingCount < limit
    }
  }

  /// That is so now which some may wait for.
  @inline(never)
  mutating func wake(_ condition: Waiters.Condition, _ consequences: inout Consequences?) {
    let woken = waiters.takeAll(condition)
    if !woken.isEmpty { consequences.needed.call(woken) }
  }

  /// One step fewer waits.
  @inline(__always)
  mutating func fewerWait(_ consequences: inout Consequences?) {
    // The number falls by one at a time: who waits for fewer than this was not woken before.
    if waiters.haveLimits { wake(.fewerWait(than: waitingCount + 1), &consequences) }
  }

  /// Nothing runs and nothing waits any more.
  mutating func becomeIdle(_ consequences: inout Consequences?) {
    if !waiters.isEmpty { wake(.idle, &consequences) }
    if let feed, feed.isWatched { feed.append(.idle) }
  }

  /// Finished steps and the running one's progress, over all that were added since the last idle.
  var progress: Double {
    let added = queue.end - idleMark
    guard added > 0 else { return 1 }
    let running = isRunning ? 1 - stepProgress.fraction : 0
    return (Double(added - waitingCount) - running) / Double(added)
  }

  /// The running step `id` has come this far.
  mutating func report(
    _ fraction: Double, of id: Int, _ consequences: inout Consequences?
  ) -> Progress.Change {
    guard isRunning(id) else { return .unchanged }
    let change = stepProgress.report(fraction)
    if let onProgress, case .risen(let fraction) = change {
      consequences.needed.call { onProgress(fraction) }
    }
    return change
  }
}
