/// The effects of a transition, performed after the lock is released.
///
/// Allocated only if there is one, which is rare.
final class Consequences {
  // Unchecked because one thread uses it: it is filled under the lock, and then performed.

  /// The work to notify of the end of its step.
  @exclusivity(unchecked) private var ended = Few<(work: StepRecord, outcome: StepOutcome)>()
  /// The work to cancel, because its step leaves the queue.
  @exclusivity(unchecked) private var leaving: [(work: StepRecord, id: Int)] = []
  /// Resume tasks and continue the queue only, which should not wait for callbacks: before the other
  /// actions.
  @exclusivity(unchecked) private var wakes: [() -> Void] = []
  @exclusivity(unchecked) private var actions: [() -> Void] = []
  @exclusivity(unchecked) private var released = Few<Any>()

  /// Notifies the work of a step of its end, before all other actions, which may depend on it.
  func end(_ work: StepRecord, _ outcome: StepOutcome) {
    ended.append((work, outcome))
  }

  /// Cancels the work of a step that was canceled while it waited.
  func leave(_ work: StepRecord, _ id: Int) {
    end(work, .cancelled)
    leaving.append((work, id))
  }

  func call(_ action: @escaping () -> Void) {
    actions.append(action)
  }

  /// Resumes a task, or continues the queue.
  func wake(_ resume: @escaping () -> Void) {
    wakes.append(resume)
  }

  /// Retains a value until the lock is released, because its release may run user code.
  func release(_ value: Any) {
    released.append(value)
  }

  /// Performs the effects.
  ///
  /// - Parameter left: Ends the steps whose work has been canceled.
  func perform(_ left: ([(work: StepRecord, id: Int)]) -> Void) {
    ended.forEach { $0.work.ended($0.outcome) }
    if !leaving.isEmpty { left(leaving) }
    for action in wakes + actions { action() }
  }
}

extension Optional where Wrapped == Consequences {
  /// The consequences; creates them if there are none.
  var needed: Consequences {
    mutating get {
      if let self { return self }
      let made = Consequences()
      self = made
      return made
    }
  }
}

extension Optional {
  /// Moves the value out.
  mutating func take() -> Wrapped? {
    defer { self = nil }
    return self
  }
}
