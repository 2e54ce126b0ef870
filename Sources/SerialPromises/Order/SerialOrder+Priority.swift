// The running work has at least the priority of the tasks that wait for its end: see
// `TaskPriority.swift`.

extension SerialOrder {
  /// Makes a change that may add a waiting task, and raises the running step's work if that has a
  /// higher priority than all that wait.
  @inline(__always)
  mutating func raisingRunning<Result>(_ change: (inout Self) -> Result) -> Result {
    let before = line.waiters.priorities.highest
    let result = change(&self)
    if line.waiters.priorities.highest > before { raiseRunning() }
    return result
  }

  /// Counts a task that waits for its turn, or for the end of a step whose work the caller raises
  /// itself.
  mutating func wait(for record: StepRecord, at priority: UInt8) {
    guard record.segment != nil, priority > record.waitingPriority else { return }
    if isRunning, queue.firstRecord === record {
      line.wait(for: record, at: priority)
    } else {
      raisingRunning { $0.line.wait(for: record, at: priority) }
    }
  }

  /// Counts a task that waits for the end of step `id`.
  mutating func wait(forEndOf id: Int, _ record: StepRecord, at priority: UInt8) {
    guard let segment = record.segment, !segment.slot(id).pointee.stage.isOver else { return }
    // The record of the slot, because `record` may not be assigned to it yet.
    let record = line.queue.record(of: id, in: segment)
    guard priority > record.waitingPriority else { return }
    raisingRunning { $0.line.wait(for: record, at: priority) }
  }

  /// Raises the work of a step that begins, if tasks of a higher priority than its own wait.
  @inline(never)
  mutating func beganAmongWaiting() {
    guard let record = queue.firstRecord else { return }
    // Callers are raised by those that wait for them.
    let own = record is Caller ? record.waitingPriority : 0
    // The task of a turn no longer waits.
    if record.endsItself { line.stopWaiting(for: record) }
    if line.waiters.priorities.highest > own { raiseRunning() }
  }

  /// Raises the work of the running step to the highest priority of the tasks that wait for its
  /// end.
  @inline(never)
  private mutating func raiseRunning() {
    guard case .running(let step) = phase else { return }
    // A turn that began at once has no record. It gets one: from now on, its task waits for other
    // threads that use it.
    if queue.firstRecord == nil, step.endsItself, let task = taskAtOnce {
      line.queue.record(Caller(queue.firstSegment.lock, atOnce: queue.first, task))
    }
    guard let record = supervision?.timedOut ?? queue.firstRecord else { return }
    let priority = TaskPriority(rawValue: line.waiters.priorities.highest)
    line.effects.wake { record.raise(to: priority) }
  }

  /// Ends the use of the task of a turn that began at once by other threads.
  ///
  /// - Returns: Its record, if other threads may use it.
  mutating func leaveAtOnce(_ id: Int) -> Caller? {
    taskAtOnce = nil
    return isRunning(id) ? queue.firstRecord as? Caller : nil
  }
}
