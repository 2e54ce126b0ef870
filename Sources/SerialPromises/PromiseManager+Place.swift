extension PromiseManager {
  /// Adds a step made from a closure, with a name or at a given place.
  ///
  /// Takes constant time for every place, plus the time of the steps that run on this thread
  /// because of it. The step's number reflects the order of addition, regardless of its place.
  ///
  /// ```swift
  /// manager.add("upload") { then in upload(file) { error in then(error) } }
  /// manager.add("login", at: .first) { then in download { then() } }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name in events, errors and diagnostics; nil for none.
  ///   - place: The place in the queue.
  ///   - handler: The work; it must call `then`. A closure isolated to an actor runs on that actor.
  /// - Returns: The step's handle.
  @discardableResult
  public func add(
    _ name: String? = nil, at place: StepPlace = .last,
    @_inheritActorContext _ handler: @escaping @isolated(any) @Sendable (_ then: Then) -> Void
  ) -> StepHandle {
    insert(Step(name, handler), at: place)
  }

  /// Adds a step of any type, for instance a promise, at a given place.
  ///
  /// ```swift
  /// let page = Promise { try await load(url) }
  /// manager.add(page, at: .first)  // starts before all waiting steps
  /// ```
  ///
  /// - Parameters:
  ///   - step: The step. Its `handler` is read immediately.
  ///   - place: The place in the queue.
  /// - Returns: The step's handle.
  @discardableResult
  public func add(_ step: some Promisable, at place: StepPlace) -> StepHandle {
    insert(Step(step), at: place)
  }

  /// Adds a step at a place.
  ///
  /// - Parameters:
  ///   - step: The step.
  ///   - place: The place in the queue.
  ///   - reportsRefusal: Whether a refusal is reported, because the caller may discard the handle.
  /// - Returns: The step's handle.
  func insert(
    _ step: Step, at place: StepPlace = .last, reportsRefusal: Bool = true
  ) -> StepHandle {
    var work: Work? = step.workOfTurn
    let admission = record(of: step).enter { record, order in
      order.add(&work, record, at: place, lock: self.order, owner: self)
    }
    return accept(admission, name: step.name, reportsRefusal: reportsRefusal)
  }

  /// Makes the record of a step that is a closure, or a promise.
  func record(of step: Step) -> StepRecord {
    if let promise = step.promise { return PromiseStepRecord(promise, order, name: step.name) }
    // With `on: .main`, handlers run on the main actor anyway.
    let isOfMain = MainQueue.is(step.isolation)
    if isOfMain { MainQueue.isUsed.store(true, ordering: .relaxed) }
    let isThere = isOfMain && MainQueue.is(queue)
    return StepRecord(order, name: step.name, isolation: isThere ? nil : step.isolation)
  }
}

extension StepHandle {
  /// Moves the step to another place in the queue, if it waits.
  ///
  /// Takes constant time. The step keeps its number, the other steps keep their order, and no event
  /// is sent. Moving a step before itself has no effect. A step whose adder waits in
  /// ``PromiseManager/addWhenRoom(_:_:)`` can be moved as well. Its adder returns in the order of
  /// arrival, or when the step starts.
  ///
  /// ```swift
  /// let photo = manager.add("photo") { then in upload(file) { then($0) } }
  /// manager.add("login", at: .before(photo)) { then in download { then() } }
  /// photo.move(to: .first)  // now it runs before the login
  /// ```
  ///
  /// - Parameter place: The new place.
  /// - Returns: Whether the step was waiting; otherwise the call has no effect.
  @discardableResult
  public func move(to place: StepPlace) -> Bool {
    record.lock.transition { $0.move(id, record, to: place) != nil }
  }
}
