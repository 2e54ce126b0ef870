/// A reference to a running task that other threads can use to cancel it, from before its work
/// begins.
///
/// A task that starts synchronously returns its handle only at its first suspension, which may
/// never come. `UnsafeCurrentTask` is available earlier, but is valid only while the task runs. The
/// task therefore removes the reference before it ends, and waits for a cancellation that is in
/// progress.
///
/// Protected by the lock of its owner.
struct CancellableTask {
  private var task: UnsafeCurrentTask?
  private var isBeingCancelled = false
  private var leaver: UnsafeContinuation<Void, Never>?

  mutating func enter(_ task: UnsafeCurrentTask?) {
    self.task = task
  }

  /// Takes the task.
  ///
  /// Cancel it after unlocking, because that calls its cancellation handlers.
  ///
  /// - Returns: The task, which requires a call of `endCancel`; nil if it has left or is being
  ///   canceled.
  mutating func beginCancel() -> UnsafeCurrentTask? {
    guard let task = task.take() else { return nil }
    isBeingCancelled = true
    return task
  }

  /// - Returns: The continuation of a task that waits for the cancellation to end.
  mutating func endCancel() -> UnsafeContinuation<Void, Never>? {
    isBeingCancelled = false
    return leaver.take()
  }

  /// Ends the use of the task: it cannot be canceled from now on.
  ///
  /// - Parameter continuation: Returned by `endCancel` if a cancellation is in progress.
  /// - Returns: Whether the task may end; false while a cancellation is in progress.
  mutating func leave(_ continuation: UnsafeContinuation<Void, Never>? = nil) -> Bool {
    task = nil
    if isBeingCancelled { leaver = continuation }
    return !isBeingCancelled
  }
}
