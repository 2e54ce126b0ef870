/// A clock and the moment from which on it counts.
struct Stopwatch: Sendable {
  /// The time since this was made.
  let elapsed: @Sendable () -> Duration

  /// Sets a timer on the clock.
  let timer: @Sendable (_ delay: Duration, _ action: @escaping Timer.Action) -> Timer

  init(_ clock: some Clock<Duration>) {
    let start = clock.now
    elapsed = { start.duration(to: clock.now) }
    timer = { Timer(after: $0, on: clock, $1) }
  }
}
