/// Hands each event to the listeners.
///
/// An event is put into each listener's own buffer by the transition that makes it, under the lock,
/// which gives the events their order. There is no queue of events that are still to be handed on,
/// so no thread works for another one: what a transition does for the listeners is in proportion to
/// their number and its own events. Made when a listener comes for the first time, and touched only
/// under the lock.
final class EventFeed {
  private var buffers: [EventBuffer] = []
  private var began: ContinuousClock.Instant?

  // What follows from the events of the transition that is being made.
  private var wakes: [() -> Void] = []
  private var dropped: [StepEvent] = []

  /// Whether there is a listener; if not, no event is made.
  var isWatched: Bool { !buffers.isEmpty }

  /// Whether something is to be done after the lock.
  var hasConsequences: Bool { !wakes.isEmpty || !dropped.isEmpty }

  func append(_ event: StepEvent) {
    for buffer in buffers {
      let effect = buffer.append(event)
      if let wake = effect.wake { wakes.append(wake) }
      // Its error may hold objects whose release calls their code.
      if let event = effect.dropped, event.hasError { dropped.append(event) }
    }
  }

  func began(_ step: StepIdentity) {
    began = .now
    append(.started(step))
  }

  func ended(_ step: StepIdentity, _ outcome: StepOutcome) {
    let duration = began.map { $0.duration(to: .now) }
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

  /// No event will follow: the sequences end after what they have.
  func end() {
    for buffer in buffers { wakes += buffer.end() }
    buffers = []
  }

  /// Moves out what is to be done after the lock.
  func moveConsequences(to consequences: inout Consequences?) {
    if !wakes.isEmpty { consequences.needed.callFirst(wakes) }
    if !dropped.isEmpty { consequences.needed.release(dropped) }
    wakes = []
    dropped = []
  }
}

/// The newest events that one listener has not taken yet, up to a limit.
///
/// Touched only under the order's lock.
final class EventBuffer {
  private let limit: Int
  private var events = Fifo<StepEvent>()

  /// The listener, while it waits for an event; several, if tasks share the sequence.
  private var waiting = Fifo<CheckedContinuation<StepEvent?, Never>>()
  private var isEnded = false

  init(limit: Int) {
    self.limit = max(0, limit)
  }

  /// How many events it holds.
  var count: Int { events.count }

  /// - Returns: What is to be done after the lock: a listener to be resumed, and the event that had to
  ///   make room.
  func append(
    _ event: StepEvent
  ) -> (wake: (() -> Void)?, dropped: StepEvent?) {
    if let listener = waiting.popFirst() { return ({ listener.resume(returning: event) }, nil) }
    events.append(event)
    return (nil, events.count > limit ? events.popFirst() : nil)
  }

  /// What there is for a listener that asks.
  enum Answer {
    case event(StepEvent)
    case ended
    /// Nothing yet.
    case none
  }

  func next() -> Answer {
    if let event = events.popFirst() { return .event(event) }
    return isEnded ? .ended : .none
  }

  /// As `next()`; if there is nothing yet, the listener is resumed when there is.
  func next(_ listener: CheckedContinuation<StepEvent?, Never>) -> Answer {
    let answer = next()
    if case .none = answer { waiting.append(listener) }
    return answer
  }

  /// No event will follow.
  ///
  /// - Returns: The listeners to be resumed after the lock.
  func end() -> [() -> Void] {
    isEnded = true
    var wakes: [() -> Void] = []
    while let listener = waiting.popFirst() { wakes.append { listener.resume(returning: nil) } }
    return wakes
  }

  /// Takes all events out, for the release after the lock.
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

/// One listener: it registers a buffer with the feed for as long as it exists.
final class EventListener: @unchecked Sendable {
  // Sendable because the buffer is touched only under the lock.
  private let lock: Locked<SerialOrder>
  private let buffer: EventBuffer

  init(_ lock: Locked<SerialOrder>, limit: Int) {
    self.lock = lock
    let buffer = EventBuffer(limit: limit)
    self.buffer = buffer
    lock.withLock { $0.listen(buffer) }
  }

  deinit {
    cancel()
  }

  func next() async -> StepEvent? {
    switch lock.withLock({ _ in buffer.next() }) {
    case .event(let event): return event
    case .ended: return nil
    case .none: break
    }
    return await withCheckedContinuation { continuation in
      switch lock.withLock({ _ in buffer.next(continuation) }) {
      case .event(let event): continuation.resume(returning: event)
      case .ended: continuation.resume(returning: nil)
      case .none: break
      }
    }
  }

  /// Ends the sequence at once, and drops what it still had.
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
  /// Makes a transition, and afterwards, with the lock released, what follows from it.
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
    consequences?.perform()
    return result
  }
}
