/// Work in a task of its own that other threads can cancel, from before it begins.
///
/// A task that starts synchronously returns its handle only at its first suspension, which may
/// never come. `UnsafeCurrentTask` is available earlier, but is valid only while the task runs. The
/// task therefore removes the reference before it ends, and waits for a cancellation that is in
/// progress.
protocol CancellableWork: AnyObject, Sendable {
  /// Changes the task under the owner's lock.
  func withTask<Result>(_ body: (inout CancellableTask) -> Result) -> Result
}

/// The task of such work, protected by its owner's lock.
struct CancellableTask {
  fileprivate var task: UnsafeCurrentTask?
  fileprivate var isCancelled = false
  fileprivate var isBeingCancelled = false
  fileprivate var leaver: UnsafeContinuation<Void, Never>?
}

extension CancellableWork {
  /// Does the work in the current task.
  ///
  /// - Parameters:
  ///   - operation: The work.
  ///   - end: What follows, when the task can no longer be canceled.
  nonisolated(nonsending) func work<Result>(
    _ operation: nonisolated(nonsending) () async -> Result, then end: (Result) -> Void
  ) async {
    let wasCancelled = withUnsafeCurrentTask { current in
      withTask { task in
        task.task = current
        return task.isCancelled
      }
    }
    // If it was canceled before, the cancellation found no task.
    if wasCancelled { cancelTask() }
    let result = await operation()
    let mayEnd = withTask { task in
      task.task = nil
      return !task.isBeingCancelled
    }
    end(result)
    guard !mayEnd else { return }
    await withUnsafeContinuation { continuation in
      let mayEnd = withTask { task in
        if task.isBeingCancelled { task.leaver = continuation }
        return !task.isBeingCancelled
      }
      if mayEnd { continuation.resume() }
    }
  }

  func cancelTask() {
    let found = withTask { task in
      task.isCancelled = true
      // Not reset: another thread may be canceling it.
      if task.task != nil { task.isBeingCancelled = true }
      return task.task.take()
    }
    // Without the lock: this calls cancel handlers.
    guard let found else { return }
    found.cancel()
    let leaver = withTask { task in
      task.isBeingCancelled = false
      return task.leaver.take()
    }
    leaver?.resume()
  }
}
