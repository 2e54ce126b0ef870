/// What a transition brought about for others, to be done after the lock is released.
///
/// Most transitions have none, so it is made only when there is one.
final class Consequences {
  private var actions: [() -> Void] = []
  private var releases: [Any] = []

  /// Notifies observers of the outcome of a step.
  func notify(_ observers: [@Sendable (StepOutcome) -> Void], _ outcome: StepOutcome) {
    actions.append { for observer in observers { observer(outcome) } }
  }

  func call(_ action: @escaping () -> Void) {
    actions.append(action)
  }

  func call(_ callbacks: [@Sendable () -> Void]) {
    actions.append { for callback in callbacks { callback() } }
  }

  /// Calls these before all others: they only resume tasks, and should not wait for callbacks.
  func callFirst(_ actions: [() -> Void]) {
    self.actions.insert(contentsOf: actions, at: 0)
  }

  /// Keeps a value until the lock is released, because its release may run somebody's code.
  func release(_ value: Any) {
    releases.append(value)
  }

  func perform() {
    for action in actions { action() }
  }
}

extension Optional where Wrapped == Consequences {
  /// The consequences, made if there were none.
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
