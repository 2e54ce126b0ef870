/// Does something after some time, unless it goes away, or is cancelled, before.
final class Timer: Sendable {
  private let task: Task<Void, Never>

  init<C: Clock<Duration>>(
    after delay: Duration, on clock: C, _ action: @escaping @Sendable () -> Void
  ) {
    // Read now, and not when the task gets to run.
    let deadline = clock.now.advanced(by: delay.countable)
    task = Task {
      do { try await clock.sleep(until: deadline, tolerance: nil) } catch { return }
      action()
    }
  }

  deinit {
    task.cancel()
  }

  func cancel() {
    task.cancel()
  }
}

extension Duration {
  /// A time that clocks can count: none of it is negative, and what is longer than thirty years lasts
  /// for thirty years.
  ///
  /// The system's clocks count nanoseconds in 64 bits, and trap when there are more.
  var countable: Duration { max(.zero, min(self, .longest)) }

  /// So many times this time, or the longest that clocks can count.
  func countable(times factor: Int) -> Duration {
    // Compared before it is multiplied, which may overflow.
    self > .longest / factor ? .longest : countable * factor
  }

  private static var longest: Duration { .seconds(1_000_000_000) }
}
