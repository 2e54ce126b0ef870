extension PromiseManager {
  /// Adds a step made from a closure, with a name or at a place.
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
  ///   - handler: The work; it must call `then`.
  /// - Returns: The step's handle.
  @discardableResult
  public func add(
    _ name: String? = nil, at place: StepPlace = .last, _ handler: @escaping Promisable.Handler
  ) -> StepHandle {
    add(handler, name: name, at: place)
  }

  /// Adds a step of any type, for instance a promise, at a place.
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
    add(step.handler, name: step.stepName, at: place, of: step.promise)
  }

  /// Adds a step at a place.
  ///
  /// - Parameters:
  ///   - handler: The work.
  ///   - name: The name of the step.
  ///   - place: The place in the queue.
  ///   - promise: The promise that is the step; nil for a closure.
  ///   - reportsRefusal: Whether a refusal is reported, because the caller may discard the handle.
  /// - Returns: The step's handle.
  func add(
    _ handler: @escaping Promisable.Handler, name: String?, at place: StepPlace = .last,
    of promise: AnyPromise? = nil, reportsRefusal: Bool = true
  ) -> StepHandle {
    var work: Work? = Work(call: promise == nil ? marked(handler) : handler)
    let admission = record(name, promise).enter { record, order, _ in
      order.add(&work, record, at: place, lock: self.order, owner: self)
    }
    return accept(admission, name: name, reportsRefusal: reportsRefusal)
  }

  /// Makes the record of a step that is a closure, or a promise.
  func record(_ name: String?, _ promise: AnyPromise?) -> StepRecord {
    promise.map { PromiseStepRecord($0, order, name: name) } ?? StepRecord(order, name: name)
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
  /// let photo = manager.add("photo") { then in upload(file) { error in then(error) } }
  /// manager.add("login", at: .before(photo)) { then in download { then() } }
  /// photo.move(to: .first)  // now it runs before the login
  /// ```
  ///
  /// - Parameter place: The new place.
  /// - Returns: Whether the step was waiting; otherwise the call has no effect.
  @discardableResult
  public func move(to place: StepPlace) -> Bool {
    record.lock.transition { order, _ in order.move(id, record, to: place) != nil }
  }
}
