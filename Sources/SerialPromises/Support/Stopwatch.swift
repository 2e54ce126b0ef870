/// Measures time on a clock from the moment of its creation.
struct Stopwatch: Sendable {
  /// Returns the time since creation.
  let elapsed: @Sendable () -> Duration

  /// Sets a timer on the clock for a time since creation.
  let timer: @Sendable (_ end: Duration, _ action: @escaping Timer.Action) -> Timer

  init(_ clock: some Clock<Duration>) {
    let start = clock.now
    elapsed = { start.duration(to: clock.now) }
    timer = { Timer(until: start.advanced(by: $0.countable), on: clock, $1) }
  }
}
