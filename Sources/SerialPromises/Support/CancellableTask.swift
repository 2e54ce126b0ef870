/// The task that does some work, within reach of those who cancel it, from before the work begins.
///
/// The handle of a task that starts at once is there only when its work is first suspended, which
/// may be never. What is kept here instead may be used only while the task is there: so the task
/// takes it away before it ends, and waits for the one who is just cancelling it.
///
/// Protected by the lock of its owner.
struct CancellableTask {
  private var task: UnsafeCurrentTask?
  private var isBeingCancelled = false
  private var leaver: UnsafeContinuation<Void, Never>?

  mutating func enter(_ task: UnsafeCurrentTask?) {
    self.task = task
  }

  /// Takes the task, to be cancelled after unlocking: that calls its cancellation handlers.
  ///
  /// - Returns: The task, or nil if it has left or is being cancelled; if not, `endCancel` follows.
  mutating func beginCancel() -> UnsafeCurrentTask? {
    guard let task = task.take() else { return nil }
    isBeingCancelled = true
    return task
  }

  /// - Returns: The task that waits to end.
  mutating func endCancel() -> UnsafeContinuation<Void, Never>? {
    isBeingCancelled = false
    return leaver.take()
  }

  /// The work is done: nobody cancels the task from now on.
  ///
  /// - Returns: Whether the task may end; if not, somebody is just cancelling it.
  mutating func leave() -> Bool {
    task = nil
    return !isBeingCancelled
  }

  /// As `leave()`; if the task may not end yet, the continuation is resumed when it may.
  mutating func leave(_ continuation: UnsafeContinuation<Void, Never>) -> Bool {
    if isBeingCancelled { leaver = continuation }
    return !isBeingCancelled
  }
}
