/// The steps of an order from their addition to their end, and the observers of it: listeners,
/// waiting callers, adders that wait for room.
///
/// When a step may start is up to the order.
struct StepLine {
  /// Changed directly only where nothing observes the change.
  var queue = StepQueue()

  /// The number of canceled steps whose work is being canceled.
  ///
  /// They no longer wait, but the queue is not idle: code that waits for that may rely on the
  /// cancellation of the work.
  private(set) var leavingCount = 0

  /// The first step number since the queue was last idle.
  private(set) var idleMark = 1

  private(set) var backpressure: Backpressure
  var waiters = Waiters()
  private(set) var feed: EventFeed?

  /// Whether the events end when no step leaves.
  private var endsEvents = false

  /// The effects of the current transition, which takes them.
  var effects = Effects()

  init(capacity: Int?) {
    backpressure = Backpressure(capacity: capacity)
  }

  /// The running step or, after `skipVacant`, the next one.
  var first: StepIdentity { queue.firstSegment.identity(of: queue.first) }

  /// Whether the capacity allows another waiting step.
  var hasRoom: Bool { backpressure.hasRoom(beside: queue.waitingCount) }

  // MARK: Adding

  /// Adds a waiting step.
  ///
  /// If the order is idle, a new count of its progress begins.
  @inline(__always)
  mutating func append(
    _ work: inout Work?, _ record: StepRecord?, lock: Locked<SerialOrder>, isIdle: Bool
  ) -> (StepRecord, id: Int) {
    if isIdle { idleMark = queue.end }
    let id = queue.end
    let record = queue.append(&work, record, lock: lock)
    feed?.append(.added(StepIdentity(id: id, name: record.name)), &effects)
    return (record, id)
  }

  /// Notifies the adder of step `id`: now, or when there is room.
  mutating func admit(
    _ id: Int, ifRoom hasRoom: Bool, _ admitted: @escaping Backpressure.Admitted
  ) {
    if hasRoom { effects.call { admitted(true) } } else { backpressure.park(id, admitted) }
  }

  /// Notifies an adder that no longer waits, if there is one.
  private mutating func notify(_ adder: Backpressure.Adder?, hasRoom: Bool) {
    guard let adder else { return }
    waiters.priorities.remove(adder.priority)
    effects.call { adder.admitted(hasRoom) }
  }

  /// Admits the next adder, if there is room after step `id` has left.
  private mutating func left(_ id: Int) {
    notify(backpressure.left(id, waitingCount: queue.waitingCount), hasRoom: true)
  }

  // MARK: Priority

  /// Counts a task that waits for a step, with a higher priority than those that did.
  mutating func wait(for record: StepRecord, at priority: UInt8) {
    stopWaiting(for: record)
    record.waitingPriority = priority
    waiters.priorities.add(priority)
  }

  /// Ends the count of the tasks that wait for a step.
  mutating func stopWaiting(for record: StepRecord) {
    waiters.priorities.remove(record.waitingPriority)
    record.waitingPriority = 0
  }

  /// Records the priority of the adder of step `id`, if it waits for room.
  mutating func raiseAdder(of id: Int, to priority: UInt8) {
    guard let before = backpressure.raise(id, to: priority) else { return }
    waiters.priorities.remove(before)
    waiters.priorities.add(priority)
  }

  // MARK: Running

  /// Begins the first step.
  ///
  /// - Returns: Its handler.
  @inline(__always)
  mutating func begin() -> Work? {
    let work = queue.begin()
    if backpressure.parked > 0 { left(queue.first) }
    waiters.decreased(to: queue.waitingCount, &effects)
    feed?.began(first, &effects)
    return work
  }

  /// Adds and begins a step without a handler and a record to an idle queue without listeners.
  mutating func addRunning(_ lock: Locked<SerialOrder>) -> Int {
    let id = queue.end
    idleMark = id
    guard !queue.appendRunning() else { return id }
    var work: Work?
    _ = queue.append(&work, nil, lock: lock)
    while let released = queue.skipVacant() { effects.release(released) }
    _ = queue.begin()
    return id
  }

  // MARK: Outcomes

  /// Gives the running step its outcome.
  ///
  /// `reporter` receives a failure if the handle was discarded; nil if something else receives it.
  mutating func settle(_ outcome: StepOutcome, reporter: DiagnosticHandler?) {
    let segment = queue.firstSegment
    feed?.ended(first, outcome, &effects)
    close(queue.first, in: segment, outcome, endsWork: true, reporter: reporter)
  }

  /// Gives step `id` its outcome: notifies its observers, and stores it in its record for the
  /// handles.
  ///
  /// `endsWork` is whether the work is to be notified, because it has not been canceled before.
  private mutating func close(
    _ id: Int, in segment: Segment, _ outcome: StepOutcome, endsWork: Bool,
    reporter: DiagnosticHandler?
  ) {
    let record = queue.existingRecord(of: id, in: segment)
    var holdsError = false
    if case .failed(let error) = outcome {
      holdsError = true
      // Only handles retain the error. This may be its last reference.
      effects.release(error)
      if let reporter, record?.receivesFailures != true, record?.observers.isEmpty != false {
        let failure = UnreceivedFailure(segment.identity(of: id), error, reporter)
        record?.unreceived = failure
        // Reported when it is released: with the record, or after this transition.
        effects.release(failure)
      }
    }
    guard let record else { return }
    if record.waitingPriority > 0 { stopWaiting(for: record) }
    let isWork = record.isWork
    // Retained: the slot may have had the last reference to a user's function.
    if isWork, endsWork {
      record.settle(outcome)
      effects.end(record, outcome)
    }
    for observer in record.observers { effects.call { observer(outcome) } }
    record.observers = []
    record.close(outcome)
    if isWork || holdsError || record.isolation != nil {
      if !isWork { effects.release(record) }
      segment.slot(id).pointee.record = record.name.map { StepRecord(record.lock, name: $0) }
    } else if record.name == nil {
      segment.slot(id).pointee.record = nil
    }
  }

  /// Registers a callback for the end of step `id`.
  ///
  /// - Returns: The outcome if the step has ended; nothing is registered then.
  mutating func observe(
    _ id: Int, _ record: StepRecord, _ observer: @escaping @Sendable (StepOutcome) -> Void
  ) -> StepOutcome? {
    if case .over(let outcome) = record.state(of: id) { return outcome }
    guard let segment = record.segment else { return nil }
    // Uses the record of the slot, because `record` may not be assigned to it yet.
    queue.record(of: id, in: segment).observers.append(observer)
    return nil
  }

  // MARK: Canceling

  /// Cancels step `id`, which waits.
  mutating func cancel(_ id: Int, in segment: Segment) {
    cancelWaiting(id, in: segment)
    left(id)
  }

  /// Cancels the waiting steps.
  ///
  /// Admits no parked adder: its step would be canceled next.
  ///
  /// - Returns: The number of visited slots, for tests: proportional to the number of waiting
  ///   steps.
  @discardableResult
  mutating func cancelWaiting() -> Int {
    guard queue.waitingCount > 0 else { return 0 }
    var visited = 0
    while let (segment, ids) = queue.nextToSweep() {
      visited += ids.count
      for id in ids where segment.slot(id).pointee.stage == .waiting {
        cancelWaiting(id, in: segment)
      }
    }
    return visited
  }

  private mutating func cancelWaiting(_ id: Int, in segment: Segment) {
    let slot = segment.slot(id)
    let record = queue.existingRecord(of: id, in: segment)
    let leavesFirst = record?.leavesFirst == true
    slot.pointee.stage = leavesFirst ? .leaving : .over
    let released = queue.cancelled(in: segment)
    waiters.decreased(to: queue.waitingCount, &effects)
    if let work = slot.pointee.work.take() { effects.release(work) }
    notify(backpressure.unpark(id), hasRoom: false)
    if leavesFirst, let record {
      stopWaiting(for: record)
      leavingCount += 1
      effects.leave(record, id)
    } else {
      cancelled(id, in: segment, endsWork: true)
    }
    if let released { effects.release(released) }
  }

  /// Ends steps that were canceled while they waited, after the cancellation of their work.
  mutating func left(_ steps: [(work: StepRecord, id: Int)]) {
    for (record, id) in steps {
      leavingCount -= 1
      if let segment = record.segment { cancelled(id, in: segment, endsWork: false) }
    }
    if endsEvents { endEvents() }
  }

  private mutating func cancelled(_ id: Int, in segment: Segment, endsWork: Bool) {
    segment.slot(id).pointee.stage = .over
    feed?.append(.finished(segment.identity(of: id), .cancelled, duration: nil), &effects)
    close(id, in: segment, .cancelled, endsWork: endsWork, reporter: nil)
  }

  // MARK: Listeners

  /// Wakes the callers that wait for rest.
  @inline(__always)
  mutating func comeToRest() { waiters.wake(.atRest, &effects) }

  /// Wakes the callers that wait for idleness, and sends the event.
  mutating func becomeIdle() {
    waiters.wake(.idle, &effects)
    feed?.append(.idle, &effects)
  }

  /// Adds a listener.
  ///
  /// - Parameters:
  ///   - buffer: The buffer of the listener.
  ///   - now: Reads the clock that measures the steps; used if this is the first listener.
  mutating func listen(
    _ buffer: EventBuffer, now: @escaping @Sendable () -> ContinuousClock.Instant
  ) {
    if feed == nil { feed = EventFeed(now: now) }
    feed?.add(buffer)
  }

  /// Removes a listener, and ends its sequence.
  mutating func stopListening(_ buffer: EventBuffer) {
    if feed?.remove(buffer) == true { feed = nil }
    buffer.end(&effects)
    effects.release(buffer.removeAll())
  }

  /// Ends the events of an invalidated order, after the events of steps that leave on other
  /// threads.
  mutating func endEvents() {
    endsEvents = leavingCount > 0
    guard !endsEvents, let feed = feed.take() else { return }
    feed.end(&effects)
  }
}
