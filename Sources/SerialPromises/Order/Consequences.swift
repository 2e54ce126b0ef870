/// The effects of a transition, performed after the lock is released.
///
/// Allocated only if there is one, which is rare.
final class Consequences {
  /// Work to notify; an outcome is nil for a step that leaves the queue.
  private var works = Fifo<(work: StepRecord, id: Int, outcome: StepOutcome?)>()
  private var actions: [() -> Void] = []
  private var releases = Fifo<Any>()

  /// Notifies observers of the outcome of a step.
  func notify(_ observers: [@Sendable (StepOutcome) -> Void], _ outcome: StepOutcome) {
    actions.append { for observer in observers { observer(outcome) } }
  }

  /// Notifies the work of a step of its end, before all other actions, which may depend on it.
  func end(_ work: StepRecord, _ outcome: StepOutcome) {
    works.append((work, 0, outcome))
  }

  /// Cancels the work of a step that was canceled while it waited.
  func leave(_ work: StepRecord, _ id: Int) {
    works.append((work, id, nil))
  }

  func call(_ action: @escaping () -> Void) {
    actions.append(action)
  }

  func call(_ callbacks: [@Sendable () -> Void]) {
    actions.append { for callback in callbacks { callback() } }
  }

  /// Inserts actions before all others.
  ///
  /// They only resume tasks, which should not wait for callbacks.
  func callFirst(_ actions: [() -> Void]) {
    self.actions.insert(contentsOf: actions, at: 0)
  }

  /// Retains a value until the lock is released, because its release may run user code.
  func release(_ value: Any) {
    releases.append(value)
  }

  /// Performs the effects.
  ///
  /// - Parameter left: Ends the steps whose work has been canceled.
  func perform(_ left: ([(work: StepRecord, id: Int)]) -> Void) {
    var leaving: [(work: StepRecord, id: Int)] = []
    works.forEach { work, id, outcome in
      work.ended(outcome ?? .cancelled)
      if outcome == nil { leaving.append((work, id)) }
    }
    if !leaving.isEmpty { left(leaving) }
    for action in actions { action() }
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
