/// Distributes events to the listeners.
///
/// A transition appends its event to each listener's buffer under the lock, which orders the
/// events. There is no shared delivery queue, so no thread delivers another thread's events. The
/// cost of a transition is proportional to the number of listeners and of its own events.
///
/// Created for the first listener, and protected by the lock.
final class EventFeed {
  private var buffers: [EventBuffer] = []
  private var began: ContinuousClock.Instant?
  private let now: @Sendable () -> ContinuousClock.Instant

  // The pending effects of the current transition.
  private var wakes: [() -> Void] = []
  private var dropped: [StepEvent] = []

  /// Whether there is a listener.
  ///
  /// Without one, no events are created.
  var isWatched: Bool { !buffers.isEmpty }

  /// - Parameter now: Reads the clock that measures the steps.
  init(now: @escaping @Sendable () -> ContinuousClock.Instant) {
    self.now = now
  }

  /// Whether effects remain to be performed after the lock is released.
  var hasConsequences: Bool { !wakes.isEmpty || !dropped.isEmpty }

  func append(_ event: StepEvent) {
    for buffer in buffers {
      let effect = buffer.append(event)
      if let wake = effect.wake { wakes.append(wake) }
      // The release of its error may run user code.
      if let event = effect.dropped, event.hasError { dropped.append(event) }
    }
  }

  func began(_ step: StepIdentity) {
    began = now()
    append(.started(step))
  }

  func ended(_ step: StepIdentity, _ outcome: StepOutcome) {
    let duration = began.map { $0.duration(to: now()) }
    append(.finished(step, outcome, duration: duration))
    began = nil
  }

  func add(_ buffer: EventBuffer) {
    buffers.append(buffer)
  }

  func remove(_ buffer: EventBuffer) {
    buffers.removeAll { $0 === buffer }
    if buffers.isEmpty { began = nil }
  }

  /// Ends the sequences after their buffered events.
  func end() {
    for buffer in buffers { wakes += buffer.end() }
    buffers = []
  }

  /// Moves the pending effects to the consequences of the transition.
  func moveConsequences(to consequences: inout Consequences?) {
    if !wakes.isEmpty { consequences.needed.callFirst(wakes) }
    if !dropped.isEmpty { consequences.needed.release(dropped) }
    wakes = []
    dropped = []
  }
}

/// The newest events that a listener has not received, up to a limit.
///
/// Protected by the order's lock.
final class EventBuffer {
  private let limit: Int
  private var events = Fifo<StepEvent>()

  /// The waiting listener; several if tasks share the sequence.
  private var waiting = Fifo<CheckedContinuation<StepEvent?, Never>>()
  private var isEnded = false

  init(limit: Int) {
    self.limit = max(0, limit)
  }

  /// The number of buffered events.
  var count: Int { events.count }

  /// - Returns: The effects to perform after the lock is released: a listener to resume, and the
  ///   event that was dropped.
  func append(
    _ event: StepEvent
  ) -> (wake: (() -> Void)?, dropped: StepEvent?) {
    if let listener = waiting.popFirst() { return ({ listener.resume(returning: event) }, nil) }
    events.append(event)
    return (nil, events.count > limit ? events.popFirst() : nil)
  }

  /// The next event, or nil in the optional at the end of the sequence.
  ///
  /// - Returns: Nil if no event is available; stores the listener until there is one.
  func next(_ listener: CheckedContinuation<StepEvent?, Never>) -> StepEvent?? {
    if let event = events.popFirst() { return event }
    if isEnded { return .some(nil) }
    waiting.append(listener)
    return nil
  }

  /// Ends the sequence.
  ///
  /// - Returns: The listeners to resume after the lock is released.
  func end() -> [() -> Void] {
    isEnded = true
    var wakes: [() -> Void] = []
    while let listener = waiting.popFirst() { wakes.append { listener.resume(returning: nil) } }
    return wakes
  }

  /// Removes all events, for release after the lock is released.
  func removeAll() -> [StepEvent] {
    var all: [StepEvent] = []
    while let event = events.popFirst() { all.append(event) }
    return all
  }
}

extension StepEvent {
  fileprivate var hasError: Bool {
    if case .finished(_, .failed, _) = self { return true }
    return false
  }
}

/// A listener: its buffer is registered with the feed for its lifetime.
final class EventListener: @unchecked Sendable {
  // Sendable because the buffer is accessed only under the lock.
  private let lock: Locked<SerialOrder>
  private let buffer: EventBuffer

  init(_ lock: Locked<SerialOrder>, limit: Int) {
    self.lock = lock
    let buffer = EventBuffer(limit: limit)
    self.buffer = buffer
    lock.withLock { $0.listen(buffer) { .now } }
  }

  deinit {
    cancel()
  }

  func next() async -> StepEvent? {
    await withCheckedContinuation { continuation in
      if let event = lock.withLock({ _ in buffer.next(continuation) }) {
        continuation.resume(returning: event)
      }
    }
  }

  /// Ends the sequence immediately and discards its buffered events.
  func cancel() {
    let (wakes, dropped) = lock.withLock { order in
      order.feed?.remove(buffer)
      return (buffer.end(), buffer.removeAll())
    }
    for wake in wakes { wake() }
    withExtendedLifetime(dropped) {}
  }
}

extension Locked where State == SerialOrder {
  /// Makes a transition, and performs its effects after the lock is released.
  @inline(__always)
  func transition<Result>(
    _ body: (inout SerialOrder, inout Consequences?) -> Result
  ) -> Result {
    var consequences: Consequences?
    let result = withLock { order in
      let result = body(&order, &consequences)
      if order.feed?.hasConsequences == true {
        order.feed?.moveConsequences(to: &consequences)
      }
      return result
    }
    if let consequences { carryOut(consequences) }
    return result
  }

  @inline(never)
  private func carryOut(_ consequences: Consequences) {
    consequences.perform { steps in transition { $0.left(steps, &$1) } }
  }
}
