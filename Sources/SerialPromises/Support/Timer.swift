/// Does something after some time, unless it is cancelled before.
struct Timer: Sendable {
  private let task: Task<Void, Never>

  init<C: Clock>(
    after delay: C.Duration, on clock: C, _ action: @escaping @Sendable () -> Void
  ) where C.Duration: Sendable {
    // Read now, and not when the task gets to run.
    let deadline = clock.now.advanced(by: delay)
    task = Task {
      do { try await clock.sleep(until: deadline, tolerance: nil) } catch { return }
      action()
    }
  }

  func cancel() {
    task.cancel()
  }
}
