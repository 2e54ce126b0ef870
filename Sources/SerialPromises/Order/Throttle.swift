/// Limits the number of steps that start in any interval to the rate.
///
/// Protected by the lock. All times are relative to the same origin.
final class Throttle {
  let rate: Rate

  /// The start times of the last steps; a ring buffer when full.
  private var starts: [Duration] = []
  private var oldest = 0

  /// The timer that ends the wait.
  var timer: Timer?

  /// Whether a wait has ended and no step has started since.
  var hasWaited = false

  init(_ rate: Rate) {
    self.rate = rate
  }

  /// The delay of a step that would start at `time`.
  func delay(at time: Duration) -> Duration {
    starts.count < rate.starts ? .zero : max(.zero, starts[oldest] + rate.interval.countable - time)
  }

  /// Records the start of a step.
  func begin(at time: Duration) {
    hasWaited = false
    if starts.count < rate.starts {
      starts.append(time)
    } else {
      starts[oldest] = time
      oldest = (oldest + 1) % rate.starts
    }
  }
}
