/// Distributes events to the listeners.
///
/// A transition appends its event to each listener's buffer under the lock, which orders the
/// events. There is no shared delivery queue, so no thread delivers another thread's events. The
/// cost of a transition is proportional to the number of listeners and of its own events.
///
/// Exists while there is a listener, and is protected by the lock.
final class EventFeed {
  private var buffers: [EventBuffer] = []
  private var began: ContinuousClock.Instant?
  private let now: @Sendable () -> ContinuousClock.Instant

  /// - Parameter now: Reads the clock that measures the steps.
  init(now: @escaping @Sendable () -> ContinuousClock.Instant) {
    self.now = now
  }

  func add(_ buffer: EventBuffer) { buffers.append(buffer) }

  /// - Returns: Whether no listener is left.
  func remove(_ buffer: EventBuffer) -> Bool {
    buffers.removeAll { $0 === buffer }
    return buffers.isEmpty
  }

  /// Ends the sequences after their buffered events.
  func end(_ effects: inout Effects) {
    for buffer in buffers { buffer.end(&effects) }
  }

  func append(_ event: StepEvent, _ effects: inout Effects) {
    for buffer in buffers { buffer.append(event, &effects) }
  }

  func began(_ step: StepIdentity, _ effects: inout Effects) {
    began = now()
    append(.started(step), &effects)
  }

  func ended(
    _ step: StepIdentity, _ outcome: StepOutcome, _ effects: inout Effects
  ) {
    let duration = began.map { $0.duration(to: now()) }
    append(.finished(step, outcome, duration: duration), &effects)
    began = nil
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

  func append(_ event: StepEvent, _ effects: inout Effects) {
    if let listener = waiting.popFirst() {
      return effects.wake { listener.resume(returning: event) }
    }
    events.append(event)
    guard events.count > limit, let dropped = events.popFirst() else { return }
    // The release of its error may run user code.
    if case .finished(_, .failed, _) = dropped { effects.release(dropped) }
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

  /// Ends the sequence after its buffered events.
  func end(_ effects: inout Effects) {
    isEnded = true
    while let listener = waiting.popFirst() {
      effects.wake { listener.resume(returning: nil) }
    }
  }

  /// Removes all events, for release after the lock is released.
  func removeAll() -> [StepEvent] {
    var all: [StepEvent] = []
    while let event = events.popFirst() { all.append(event) }
    return all
  }
}

/// A listener: its buffer is registered with the feed for its lifetime.
final class EventListener: @unchecked Sendable {
  // Sendable because the buffer is accessed only under the lock.
  private let lock: Locked<SerialOrder>
  private let buffer: EventBuffer

  init(_ lock: Locked<SerialOrder>, limit: Int) {
    self.lock = lock
    buffer = EventBuffer(limit: limit)
    lock.withLock { [buffer] in $0.line.listen(buffer) { .now } }
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
    lock.transition { $0.line.stopListening(buffer) }
  }
}
