/// Work in a task that other threads can cancel, and whose priority they can raise, from before it
/// begins.
///
/// A task that starts synchronously returns its handle only at its first suspension, which may
/// never come. `UnsafeCurrentTask` is available earlier, but is valid only while the task runs. The
/// task therefore removes the reference before it ends, and waits for other threads that use it.
protocol CancellableWork: AnyObject, Sendable {
  /// Changes the task under the owner's lock.
  func withTask<Result>(_ body: (inout CancellableTask) -> Result) -> Result
}

/// The task of such work, protected by its owner's lock.
struct CancellableTask {
  /// The task, while it does the work.
  var task: UnsafeCurrentTask?
  fileprivate var isCancelled = false
  fileprivate var priority: TaskPriority?
  /// The number of other threads that use the task.
  fileprivate var users = 0
  fileprivate var leaver: UnsafeContinuation<Void, Never>?
}

extension CancellableWork {
  /// Does the work in the current task.
  ///
  /// - Parameters:
  ///   - operation: The work.
  ///   - end: What follows, when other threads can no longer use the task.
  nonisolated(nonsending) func work<Result>(
    _ operation: nonisolated(nonsending) () async -> Result, then end: (Result) -> Void
  ) async {
    let (wasCancelled, priority) = withUnsafeCurrentTask { current in
      withTask { task in
        task.task = current
        return (task.isCancelled, task.priority)
      }
    }
    // What came before found no task.
    if wasCancelled { cancelTask() }
    if let priority { raiseTask(to: priority) }
    let result = await operation()
    let isUsed = leaveTask()
    end(result)
    if isUsed { await othersToLeave() }
  }

  /// Removes the task, which is about to end or to do something else.
  ///
  /// - Returns: Whether other threads use it, so that it has to wait for `othersToLeave`.
  func leaveTask() -> Bool {
    withTask { task in
      task.task = nil
      return task.users > 0
    }
  }

  nonisolated(nonsending) func othersToLeave() async {
    await withUnsafeContinuation { continuation in
      let isUsed = withTask { task in
        if task.users > 0 { task.leaver = continuation }
        return task.users > 0
      }
      if !isUsed { continuation.resume() }
    }
  }

  func cancelTask() {
    useTask {
      $0.isCancelled = true
    } _: {
      $0.cancel()
    }
  }

  func raiseTask(to priority: TaskPriority) {
    useTask {
      $0.priority = max($0.priority ?? priority, priority)
    } _: {
      $0.raise(to: priority)
    }
  }

  private func useTask(
    _ prepare: (inout CancellableTask) -> Void, _ use: (consuming UnsafeCurrentTask) -> Void
  ) {
    let found = withTask { task in
      prepare(&task)
      if task.task != nil { task.users += 1 }
      return task.task
    }
    guard let task = consume found else { return }
    // Without the lock: this calls cancel and escalation handlers. Consumed: no reference to the
    // task is left when it may end.
    use(consume task)
    let leaver = withTask { task in
      task.users -= 1
      return task.users == 0 ? task.leaver.take() : nil
    }
    leaver?.resume()
  }
}
