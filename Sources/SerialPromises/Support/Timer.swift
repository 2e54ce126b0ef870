/// Does something after some time, unless it goes away, or is cancelled, before.
final class Timer: Sendable {
  private let task: Task<Void, Never>

  init<C: Clock<Duration>>(
    after delay: Duration, on clock: C, _ action: @escaping @Sendable () -> Void
  ) {
    // Read now, and not when the task gets to run.
    let deadline = clock.now.advanced(by: delay)
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
