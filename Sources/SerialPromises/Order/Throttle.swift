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
