import Dispatch

extension PromiseManager {
  /// Creates a manager with steps, and starts the first.
  ///
  /// ```swift
  /// let pages = urls.map { url in Promise { try await load(url) } }
  /// await PromiseManager(pages).idle()
  /// ```
  ///
  /// The other parameters are those of
  /// ``init(on:onFailure:capacity:rate:timeLimit:abandoning:clock:diagnostics:)``.
  ///
  /// - Parameters:
  ///   - steps: The steps, as in ``add(contentsOf:)``.
  ///   - queue: The queue of the handlers.
  ///   - policy: The treatment of the waiting steps after a failure.
  ///   - capacity: The maximum number of waiting steps.
  ///   - rate: The maximum number of steps that start in any interval.
  ///   - timeLimit: The maximum duration of each step.
  ///   - abandoning: Whether the manager continues after a timeout.
  ///   - clock: The clock that measures the rate and the time limit.
  ///   - diagnostics: The handler for misuse.
  public convenience init(
    _ steps: [any Promisable], on queue: DispatchQueue? = nil,
    onFailure policy: FailurePolicy = .continue, capacity: Int? = nil, rate: Rate? = nil,
    timeLimit: Duration? = nil, abandoning: Bool = false,
    clock: some Clock<Duration> = ContinuousClock(), diagnostics: DiagnosticHandler? = nil
  ) {
    self.init(
      on: queue, onFailure: policy, capacity: capacity, rate: rate, timeLimit: timeLimit,
      abandoning: abandoning, clock: clock, diagnostics: diagnostics)
    add(contentsOf: steps)
  }

  /// Adds several steps, without steps of other threads between them.
  ///
  /// Takes time proportional to the number of steps.
  ///
  /// ```swift
  /// manager.add(contentsOf: [download, upload, Promise { try await load(url) }])
  /// ```
  ///
  /// - Parameter steps: The steps, in order. The `handler` of each is read immediately.
  /// - Returns: The handles, in order. All steps are refused if the manager is closed, or if its
  ///   capacity has no room for all of them, the first included. They then fail with that error, never run, and are
  ///   reported as one ``Diagnostic/refused(_:)``.
  @discardableResult
  public func add(contentsOf steps: [any Promisable]) -> [StepHandle] {
    // Before the lock, because the properties of a step are user code.
    let entries = steps.map { step in
      let entry = step.promise.map { PromiseEntry($0, order, name: step.stepName) }
      let record = entry?.record ?? StepRecord(order, name: step.stepName)
      let work = Work(call: entry == nil ? marked(step.handler) : step.handler)
      return (entry: entry, record: record, work: work)
    }
    let admissions = order.transition { order, _ in
      let refusal = order.refusal(of: entries.count)
      return entries.map { entry, record, work -> SerialOrder.Admission in
        if let refusal { return .refused(refusal) }
        var work: Work? = work
        let admission = order.enter(&work, record, lock: self.order, owner: self)
        entry?.entered(admission)
        return admission
      }
    }
    for (entry, admission) in zip(entries, admissions) { entry.entry?.conclude(admission) }
    if case .refused(let error)? = admissions.first { report(.refused(error)) }
    // The first step has the claim, if it was free.
    if case .entered(_, let id, true)? = admissions.first { startTurn(.added(id)) }
    return zip(entries, admissions).map { entry, admission in
      switch admission {
      case .entered(let record, let id, _): StepHandle(record, id: id)
      case .refused(let error):
        StepHandle(StepRecord(order, name: entry.record.name, refused: error), id: 0)
      }
    }
  }
}
