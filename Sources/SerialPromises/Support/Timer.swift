import Dispatch

/// Calls an action at a time, unless it is canceled or released first.
///
/// Uses Dispatch for the system's clocks: a task would need a thread of the cooperative pool, and
/// code that blocks on this timer may occupy all of them. Other clocks support sleeping only in a
/// task. In both cases the action runs on a global queue, outside any task.
final class Timer: Sendable {
  /// Called at most once: with nil when the time has come, or with the error that the clock
  /// threw.
  typealias Action = @Sendable (_ failure: (any Error)?) -> Void

  /// The pending action.
  ///
  /// `cancel` removes it, so that its captured values are released immediately and not when
  /// Dispatch or the clock fires.
  private let action: Locked<Action?>

  private let stop: @Sendable () -> Void

  convenience init(
    after delay: Duration, on clock: some Clock<Duration>, _ action: @escaping Action
  ) {
    // Computed here, so that the delay includes the time until the wait begins.
    self.init(until: clock.now.advanced(by: delay.countable), on: clock, action)
  }

  init<C: Clock<Duration>>(until deadline: C.Instant, on clock: C, _ action: @escaping Action) {
    let action = Locked<Action?>(action)
    self.action = action
    let end: Action = { failure in action.withLock { $0.take() }?(failure) }
    if clock is ContinuousClock || clock is SuspendingClock {
      // `ContinuousClock` advances while the machine sleeps; `SuspendingClock` and Dispatch timers
      // do not. A long wait on `ContinuousClock` is therefore checked against the clock once a
      // minute. After the machine wakes, the timer is at most a minute late.
      let longest: Duration = clock is ContinuousClock ? .seconds(60) : .seconds(Int64.max)
      let source = TimerSource {
        min(clock.now.duration(to: deadline), longest)
      } action: {
        end(nil)
      }
      stop = { source.cancel() }
    } else {
      // Detached: the action does not inherit the task that set the timer.
      let task = Task.detached {
        var failure: (any Error)?
        do { try await clock.sleep(until: deadline, tolerance: nil) } catch { failure = error }
        DispatchQueue.global().async { [failure] in end(failure) }
      }
      stop = { task.cancel() }
    }
  }

  deinit {
    cancel()
  }

  /// Releases the action without calling it, unless it has been called.
  func cancel() {
    let action = action.withLock { $0.take() }
    stop()
    withExtendedLifetime(action) {}
  }
}

/// A Dispatch timer that fires when the remaining time is zero.
final class TimerSource: Sendable {
  // Dispatch allows its use on any thread, but does not declare it.
  private let source: Locked<any DispatchSourceTimer>

  init(
    remaining: @escaping @Sendable () -> Duration, action: @escaping @Sendable () -> Void
  ) {
    let source = DispatchSource.makeTimerSource(queue: .global())
    self.source = Locked(source)
    // The source and its handler retain each other until the source is canceled.
    source.setEventHandler {
      let time = remaining()
      guard time <= .zero else { return source.schedule(deadline: .after(time)) }
      source.cancel()
      action()
    }
    source.schedule(deadline: .after(remaining()))
    source.activate()
  }

  /// Safe to call more than once, on any thread.
  func cancel() {
    source.withLock { $0.cancel() }
  }
}

extension Duration {
  /// The duration clamped to the range from zero to about thirty years.
  ///
  /// The system's clocks count nanoseconds in 64 bits and trap on overflow.
  var countable: Duration { max(.zero, min(self, .longest)) }

  /// Returns the product, clamped to the longest countable duration.
  func countable(times factor: Int) -> Duration {
    // Compared before the multiplication, which may overflow.
    self > .longest / factor ? .longest : countable * factor
  }

  private static var longest: Duration { .seconds(1_000_000_000) }
}
