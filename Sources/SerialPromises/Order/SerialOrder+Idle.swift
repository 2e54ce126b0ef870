/// Those who wait until nothing runs and nothing waits.
struct IdleWaiters {
  private var waiting: [Int: @Sendable () -> Void] = [:]
  private var lastTicket = 0

  mutating func takeAll() -> [@Sendable () -> Void] {
    defer { waiting = [:] }
    return waiting.sorted { $0.key < $1.key }.map(\.value)
  }

  mutating func add(_ wake: @escaping @Sendable () -> Void) -> Int {
    lastTicket += 1
    waiting[lastTicket] = wake
    return lastTicket
  }

  mutating func remove(_ ticket: Int) -> (@Sendable () -> Void)? {
    waiting.removeValue(forKey: ticket)
  }

  var isEmpty: Bool { waiting.isEmpty }
}

extension SerialOrder {
  /// Nothing runs and nothing waits any more.
  mutating func becomeIdle(_ consequences: inout Consequences?) {
    if !idleWaiters.isEmpty { consequences.needed.call(idleWaiters.takeAll()) }
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
