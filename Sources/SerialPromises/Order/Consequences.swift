/// The effects of a transition, performed after the lock is released.
///
/// Allocated only if there is one, which is rare.
final class Consequences {
  // Unchecked because one thread uses it: it is filled under the lock, and then performed.

  /// Most have one step to notify: it needs no array.
  @exclusivity(unchecked) private var ended: (work: StepRecord, outcome: StepOutcome)?
  @exclusivity(unchecked) private var actions: [() -> Void] = []
  /// Most have one object to release: it needs no array.
  @exclusivity(unchecked) private var released: Any?
  @exclusivity(unchecked) private var releases: [Any] = []

  /// Notifies observers of the outcome of a step.
  func notify(_ observers: [@Sendable (StepOutcome) -> Void], _ outcome: StepOutcome) {
    actions.append { for observer in observers { observer(outcome) } }
  }

  /// Notifies the work of a step of its end.
  func end(_ work: StepRecord, _ outcome: StepOutcome) {
    if ended == nil, actions.isEmpty {
      ended = (work, outcome)
    } else {
      actions.append { work.ended(outcome) }
    }
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
    if released == nil { released = value } else { releases.append(value) }
  }

  func perform() {
    if let ended { ended.work.ended(ended.outcome) }
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
