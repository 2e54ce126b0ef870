/// Measures time on a clock from the moment of its creation.
struct Stopwatch: Sendable {
  /// Returns the time since creation.
  let elapsed: @Sendable () -> Duration

  /// Sets a timer on the clock.
  let timer: @Sendable (_ delay: Duration, _ action: @escaping Timer.Action) -> Timer

  init(_ clock: some Clock<Duration>) {
    let start = clock.now
    elapsed = { start.duration(to: clock.now) }
    timer = { Timer(after: $0, on: clock, $1) }
  }
}
