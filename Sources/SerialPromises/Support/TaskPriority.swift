// A task runs at least at the highest priority of the tasks that wait for its end. The runtime sees
// to that where one task awaits another; here, tasks wait for continuations.
//
// A waiting task is counted with its priority (`StepRecord.waitingPriority`, `Waiters`), and again
// when it is raised itself. `SerialOrder` raises the work of the running step to the highest
// priority that is counted, when it begins and when a higher one is added. Promises have the
// highest priority with which they were awaited.

/// Work in a task whose priority other threads may raise.
protocol Worker: AnyObject, Sendable {
  /// Records that a task of this priority waits for the work.
  ///
  /// Call it without a lock: it may call escalation handlers.
  func escalate(to priority: TaskPriority)
}

/// A task, without a reference to it.
struct UnownedTask {
  private var task: UnsafeRawPointer

  /// The current task.
  static var current: UnownedTask? {
    var current: UnsafeRawPointer?
    withUnsafeCurrentTask { task in
      // A copy would take a retain and a release for each turn.
      current = withUnsafeBytes(of: task) { $0.load(as: UnsafeRawPointer?.self) }
    }
    return current.map(UnownedTask.init)
  }

  /// Whether the task, which has not ended, is canceled.
  var isCancelled: Bool {
    mutating get {
      withUnsafeMutablePointer(to: &task) { pointer in
        pointer.withMemoryRebound(to: UnsafeCurrentTask.self, capacity: 1) {
          Self.isCancelled(&$0.pointee)
        }
      }
    }
  }

  // `inout`, because otherwise the task would be copied.
  @inline(__always)
  private static func isCancelled(_ task: inout UnsafeCurrentTask) -> Bool { task.isCancelled }

  /// The task.
  ///
  /// Requires that it has not ended.
  var unsafeTask: UnsafeCurrentTask { unsafeBitCast(task, to: UnsafeCurrentTask.self) }
}

extension UnsafeCurrentTask {
  /// Raises the priority of the task, if the system supports it.
  ///
  /// Without a lock: it calls the task's escalation handlers.
  ///
  /// Separate function: afterwards, it has no reference to the task, which may end.
  @inline(never)
  func raise(to priority: TaskPriority) {
    #if !OLDEST_SYSTEMS
      if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
        escalatePriority(to: priority)
      }
    #endif
  }
}

extension Task {
  /// Raises the priority of the task, if the system supports it.
  func raise(to priority: TaskPriority) {
    #if !OLDEST_SYSTEMS
      if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
        escalatePriority(to: priority)
      }
    #endif
  }
}

/// As `suspended`, and calls `onEscalation` each time that the priority of the task is raised
/// meanwhile, if the system supports it.
///
/// `body` reads the priority of the task: a raise after that is not lost.
func suspended<Result>(
  isolation: isolated (any Actor)? = #isolation,
  _ body: (UnsafeContinuation<Result, Never>) -> Void, onCancel: @Sendable () -> Void,
  onEscalation: @Sendable (TaskPriority) -> Void
) async -> Result {
  #if !OLDEST_SYSTEMS
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      return await withTaskPriorityEscalationHandler {
        // Captured, so that this closure has its isolation.
        _ = isolation
        return await suspended(isolation: isolation, body, onCancel: onCancel)
      } onPriorityEscalated: { _, priority in
        onEscalation(priority)
      }
    }
  #endif
  return await suspended(isolation: isolation, body, onCancel: onCancel)
}
