import Dispatch

/// Calls an action after some time, unless it is canceled or released before.
///
/// The system's clocks are waited for by Dispatch and not by a task: a task would need a thread of
/// the cooperative pool, and the threads of the pool may all be blocked by code that waits for this
/// timer. Any other clock can only be slept on in a task. The action runs on a global queue in both
/// cases, in no task.
final class Timer: Sendable {
  /// Called at most once: with nil when the time is over, or with the error that the clock threw
  /// instead of sleeping.
  typealias Action = @Sendable (_ failure: (any Error)?) -> Void

  /// What is still to be called.
  ///
  /// Taken out by `cancel`, so that what the action captured is released by then, and not when
  /// Dispatch or the clock gets to it.
  private let action: Locked<Action?>

  private let wait: Wait

  private enum Wait: Sendable {
    case source(TimerSource)
    case task(Task<Void, Never>)
  }

  init<C: Clock<Duration>>(
    after delay: Duration, on clock: C, _ action: @escaping Action
  ) {
    // Read now, and not when the waiting begins.
    let deadline = clock.now.advanced(by: delay.countable)
    let action = Locked<Action?>(action)
    self.action = action
    if clock is ContinuousClock || clock is SuspendingClock {
      // `ContinuousClock` goes on while the machine sleeps; `SuspendingClock` and the timers of
      // Dispatch stand still. So a long wait for the former is checked against the clock once a
      // minute: after the machine wakes, the timer is late by a minute at most.
      let longest: Duration = clock is ContinuousClock ? .seconds(60) : .seconds(Int64.max)
      let source = TimerSource {
        min(clock.now.duration(to: deadline), longest)
      } action: {
        action.call(nil)
      }
      wait = .source(source)
    } else {
      // Detached: the action belongs to no task, least of all to the one that set the timer.
      let task = Task.detached {
        var failure: (any Error)?
        do { try await clock.sleep(until: deadline, tolerance: nil) } catch { failure = error }
        DispatchQueue.global().async { [failure] in action.call(failure) }
      }
      wait = .task(task)
    }
  }

  deinit {
    cancel()
  }

  /// Releases the action without calling it, unless it has been called.
  func cancel() {
    let action = action.withLock { $0.take() }
    switch wait {
    case .source(let source): source.cancel()
    case .task(let task): task.cancel()
    }
    withExtendedLifetime(action) {}
  }
}

extension Locked where State == Timer.Action? {
  /// Calls the action, unless it has been called or canceled.
  fileprivate func call(_ failure: (any Error)?) {
    withLock { $0.take() }?(failure)
  }
}

/// A timer of Dispatch that fires when no time remains.
final class TimerSource: @unchecked Sendable {
  // Sendable because the source never changes, and Dispatch allows its use from any thread.
  private let source: any DispatchSourceTimer

  init(
    remaining: @escaping @Sendable () -> Duration, action: @escaping @Sendable () -> Void
  ) {
    let source = DispatchSource.makeTimerSource(queue: .global())
    self.source = source
    // The source retains its handler, and that the source, until the source is canceled.
    source.setEventHandler {
      let time = remaining()
      guard time <= .zero else { return source.schedule(deadline: .after(time)) }
      source.cancel()
      action()
    }
    source.schedule(deadline: .after(remaining()))
    source.activate()
  }

  /// May be called on every thread, more than once.
  func cancel() {
    source.cancel()
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
