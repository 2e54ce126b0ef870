/// What follows from a transition of an order, performed after the lock is released.
struct Effects {
  /// Allocated only if something follows, which is rare.
  private final class List {
    // Unchecked because one thread uses it: it is filled under the lock, and then performed.

    @exclusivity(unchecked) var ended = TinyArray<(work: StepRecord, outcome: StepOutcome)>()
    @exclusivity(unchecked) var leaving: [(work: StepRecord, id: Int)] = []
    @exclusivity(unchecked) var wakes: [() -> Void] = []
    @exclusivity(unchecked) var actions: [() -> Void] = []
    @exclusivity(unchecked) var released = TinyArray<Any>()
  }

  private var list: List?

  var isEmpty: Bool { list == nil }

  private mutating func needed() -> List {
    if let list { return list }
    let made = List()
    list = made
    return made
  }

  /// Moves the effects out.
  mutating func take() -> Effects {
    var taken = Effects()
    swap(&taken, &self)
    return taken
  }

  /// Notifies the work of a step of its end, before all other actions, which may depend on it.
  mutating func end(_ work: StepRecord, _ outcome: StepOutcome) {
    needed().ended.append((work, outcome))
  }

  /// Cancels the work of a step that was canceled while it waited.
  mutating func leave(_ work: StepRecord, _ id: Int) {
    end(work, .cancelled)
    needed().leaving.append((work, id))
  }

  mutating func call(_ action: @escaping () -> Void) {
    needed().actions.append(action)
  }

  /// Resumes a task, or continues the queue: before the other actions, which may take long.
  mutating func wake(_ resume: @escaping () -> Void) {
    needed().wakes.append(resume)
  }

  /// Retains a value until the lock is released, because its release may run user code.
  mutating func release(_ value: Any) {
    needed().released.append(value)
  }

  /// Performs the effects.
  ///
  /// - Parameter left: Ends the steps whose work has been canceled.
  func perform(_ left: ([(work: StepRecord, id: Int)]) -> Void) {
    guard let list else { return }
    list.ended.forEach { $0.work.ended($0.outcome) }
    if !list.leaving.isEmpty { left(list.leaving) }
    for action in list.wakes + list.actions { action() }
  }
}

extension Optional {
  /// Moves the value out.
  mutating func take() -> Wrapped? {
    defer { self = nil }
    return self
  }
}
