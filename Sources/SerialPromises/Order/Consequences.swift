/// The effects of a transition, performed after the lock is released.
///
/// Allocated only if there is one, which is rare.
final class Consequences {
  // Unchecked because one thread uses it: it is filled under the lock, and then performed.

  /// Most have one step to notify: it needs no array.
  @exclusivity(unchecked) private var ended: (work: StepRecord, outcome: StepOutcome)?
  /// Other work to notify; an outcome is nil for a step that leaves the queue.
  @exclusivity(unchecked) private var works: [(work: StepRecord, id: Int, outcome: StepOutcome?)] =
    []
  @exclusivity(unchecked) private var actions: [() -> Void] = []
  /// Most have one object to release: it needs no array.
  @exclusivity(unchecked) private var released: Any?
  @exclusivity(unchecked) private var releases: [Any] = []

  /// Notifies observers of the outcome of a step.
  func notify(_ observers: [@Sendable (StepOutcome) -> Void], _ outcome: StepOutcome) {
    actions.append { for observer in observers { observer(outcome) } }
  }

  /// Notifies the work of a step of its end, before all other actions, which may depend on it.
  func end(_ work: StepRecord, _ outcome: StepOutcome) {
    if ended == nil { ended = (work, outcome) } else { works.append((work, 0, outcome)) }
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
    if released == nil { released = value } else { releases.append(value) }
  }

  /// Performs the effects.
  ///
  /// - Parameter left: Ends the steps whose work has been canceled.
  func perform(_ left: ([(work: StepRecord, id: Int)]) -> Void) {
    if let ended { ended.work.ended(ended.outcome) }
    if !works.isEmpty { notifyWorks(left) }
    for action in actions { action() }
  }
}

extension Consequences {
  private func notifyWorks(_ left: ([(work: StepRecord, id: Int)]) -> Void) {
    for (work, _, outcome) in works { work.ended(outcome ?? .cancelled) }
    let leaving = works.compactMap { $0.outcome == nil ? (work: $0.work, id: $0.id) : nil }
    if !leaving.isEmpty { left(leaving) }
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
