@testable import SerialPromises

/// A clock that calls functions to read the time, and to sleep.
///
/// By default, the system clock that ends each sleep at once.
struct ClosureClock: Clock {
  var read: @Sendable () -> ContinuousClock.Instant = { .now }
  var rest: @Sendable (ContinuousClock.Instant) async throws -> Void = { _ in }

  var now: ContinuousClock.Instant { read() }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try await rest(deadline)
  }
}

/// A clock that advances only when a test says so.
final class ManualClock: Clock, Sendable {
  struct Instant: InstantProtocol {
    var offset = Duration.zero

    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (one: Instant, other: Instant) -> Bool { one.offset < other.offset }
  }

  private struct State {
    var now = Instant()
    var sleepers: [Int: (deadline: Instant, continuation: CheckedContinuation<Void, Never>)] = [:]
    var last = 0
    var tick = Duration.zero
  }

  private let state = Locked(State())
  /// Opens when a task sleeps.
  let slept = Gate()

  /// Called by the thread that cancels a sleep, after the sleeper has been woken.
  private let cancelled: @Sendable () -> Void

  init(cancelled: @escaping @Sendable () -> Void = {}) {
    self.cancelled = cancelled
  }

  var now: Instant {
    state.withLock { state in
      defer { state.now = state.now.advanced(by: state.tick) }
      return state.now
    }
  }

  /// Lets time pass with each reading, from now on.
  func tick(_ duration: Duration) { state.withLock { $0.tick = duration } }

  /// The time at which the next task is woken.
  var nextDeadline: Instant? { state.withLock { $0.sleepers.values.map(\.deadline).min() } }

  var minimumResolution: Duration { .zero }

  /// The number of sleeping tasks.
  var sleepers: Int { state.withLock { $0.sleepers.count } }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let number = state.withLock { state in
      state.last += 1
      return state.last
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if deadline <= state.now || Task.isCancelled { return true }
          state.sleepers[number] = (deadline, continuation)
          return false
        }
        if isOver { continuation.resume() }
        slept.open()
      }
    } onCancel: {
      state.withLock { $0.sleepers.removeValue(forKey: number) }?.continuation.resume()
      cancelled()
    }
    try Task.checkCancellation()
  }

  func advance(by duration: Duration) {
    let woken = state.withLock { state in
      let now = state.now.advanced(by: duration)
      state.now = now
      let woken = state.sleepers.filter { $0.value.deadline <= now }
      for number in woken.keys { state.sleepers[number] = nil }
      return woken.values
    }
    for sleeper in woken { sleeper.continuation.resume() }
  }

  /// Waits until a task sleeps again, or several do.
  ///
  /// Yields, because a new sleeper may end at once: no single event marks the moment.
  func waitForSleeper(_ count: Int = 1) async {
    while sleepers < count { await Task.yield() }
  }

  /// Waits until a task sleeps, or several do, and lets this time pass.
  func elapse(_ duration: Duration, sleepers count: Int = 1) async {
    await waitForSleeper(count)
    advance(by: duration)
  }
}
