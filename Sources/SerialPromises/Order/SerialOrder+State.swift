extension SerialOrder {
  var queue: StepQueue { line.queue }

  var waitingCount: Int { line.queue.waitingCount }

  /// Whether a step has started and not ended.
  var isRunning: Bool { if case .running = phase { true } else { false } }

  func isRunning(_ id: Int) -> Bool { isRunning && id == queue.first }

  var runningStep: StepIdentity? { isRunning ? line.first : nil }

  /// The name of a step whose segment is still in the queue.
  func name(of id: Int) -> String? {
    guard let head = queue.head, head.contains(id) else { return nil }
    return head.identity(of: id).name
  }

  /// Whether no step runs or waits.
  var isIdle: Bool { waitingCount == 0 && line.leavingCount == 0 && !isRunning }

  /// Checks whether a step that is added now begins at once, or is refused because the queue is
  /// closed.
  ///
  /// - Parameter time: The time since the creation of a manager with a rate.
  /// - Returns: Whether it does not wait.
  func isAvailable(at time: Duration?) -> Bool {
    if isClosed { return true }
    guard case .resting = phase, isIdle, !isPaused else { return false }
    guard let throttle, let time else { return true }
    return throttle.delay(at: time) <= .zero
  }

  /// Whether step `id` runs and its `then` has not been called.
  func awaitsThen(_ id: Int) -> Bool {
    if case .running(let step) = phase { !step.isThenCalled && id == queue.first } else { false }
  }

  /// Whether the running step's handler is on the stack of a thread.
  var isHandling: Bool {
    if case .running(let step) = phase { step.thread != nil } else { false }
  }

  /// Whether the running step's handler is on the stack of `thread`.
  func isHandling(on thread: ThreadIdentity) -> Bool {
    if case .running(let step) = phase { step.thread == thread } else { false }
  }

  /// Whether the running step is requested to stop.
  var isCancelRequested: Bool { supervision?.isCancelRequested == true }

  /// Whether the cancel handlers of the running step run after a timeout.
  var isTimingOut: Bool { supervision?.isTimingOut == true }

  /// The progress of the running step.
  var stepProgress: Double { supervision?.progress.fraction ?? 0 }

  /// The fraction of finished steps, with the running step's progress, since the queue was last
  /// idle.
  var progress: Double {
    let added = queue.end - line.idleMark
    guard added > 0 else { return 1 }
    let running = isRunning ? 1 - stepProgress : 0
    return (Double(added - waitingCount) - running) / Double(added)
  }

  /// Whether a condition holds.
  func holds(_ condition: Waiters.Condition) -> Bool {
    switch condition {
    case .idle: isIdle
    case .atRest:
      switch phase {
      case .resting, .throttled: true
      // The claim's holder starts a waiting step, unless the queue is paused.
      case .claimed: isPaused || waitingCount == 0
      case .onItsWay, .running: false
      }
    case .waitingBelow(let limit): waitingCount < limit
    }
  }

  /// Adds a caller that waits until a condition holds.
  ///
  /// - Returns: A ticket for leaving; nil if the condition already holds.
  mutating func wait(
    for condition: Waiters.Condition, _ wake: @escaping Waiters.Wake
  ) -> Waiters.Ticket? {
    holds(condition) ? nil : line.waiters.add(condition, wake)
  }

  /// The time for which the manager of a key is retained after the start of a step: its rate would
  /// be forgotten.
  var memory: Duration? {
    isRunning && retention.isOfKey ? throttle?.rate.interval : nil
  }

  /// The wait before the claim is taken again.
  var throttledWait: Wait? { if case .throttled(let wait) = phase { wait } else { nil } }

  /// The records of the steps whose work is still to run or to end, as far as they have one.
  ///
  /// Takes time proportional to the number of waiting steps.
  var recordsOfWork: [StepRecord] {
    // The handler of a running closure has returned, or is on this thread.
    queue.records.filter { $1.isWork || !isRunning($0) }.map(\.record)
  }
}

extension Locked where State == SerialOrder {
  /// Whether a step that runs or waits needs the main queue.
  var needsMainQueue: Bool {
    let (isUsed, records) = withLock { ($0.usesMainQueue && !$0.isIdle, $0.recordsOfWork) }
    return isUsed || records.contains(where: \.needsMainQueue)
  }
}
