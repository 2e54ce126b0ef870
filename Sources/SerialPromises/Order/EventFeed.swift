/// Events on their way to those who listen.
///
/// They are collected under the lock, which gives them their order, and handed on after it by
/// one thread at a time, which keeps it. Made when somebody listens for the first time, and
/// touched only under the lock.
final class EventFeed {
  private var sinks: [Int: AsyncStream<PromiseManager.Event>.Continuation] = [:]
  private var lastSink = 0
  private var outbox: [PromiseManager.Event] = []
  private var isPublishing = false
  private var began: ContinuousClock.Instant?

  /// Whether anybody listens. If not, no event is made.
  var isWatched: Bool { !sinks.isEmpty }

  /// Whether there are events that no thread is handing on.
  var needsPublisher: Bool { !outbox.isEmpty && !isPublishing }

  func append(_ event: PromiseManager.Event) {
    outbox.append(event)
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

  func addSink(_ sink: AsyncStream<PromiseManager.Event>.Continuation) -> Int {
    lastSink += 1
    sinks[lastSink] = sink
    return lastSink
  }

  /// - Returns: The sink, to be released after the lock.
  func removeSink(_ id: Int) -> AsyncStream<PromiseManager.Event>.Continuation? {
    if sinks.count == 1 { began = nil }
    return sinks.removeValue(forKey: id)
  }

  func removeAllSinks() -> [AsyncStream<PromiseManager.Event>.Continuation] {
    defer { sinks = [:] }
    return Array(sinks.values)
  }

  typealias Batch = (
    events: [PromiseManager.Event], sinks: [AsyncStream<PromiseManager.Event>.Continuation]
  )

  /// Takes what is there to be handed on; nil, and no longer publishing, when there is nothing.
  func takeBatch(continuing: Bool) -> Batch? {
    if isPublishing && !continuing { return nil }
    isPublishing = !outbox.isEmpty
    guard isPublishing else { return nil }
    defer { outbox = [] }
    return (outbox, Array(sinks.values))
  }
}

extension Locked where State == SerialOrder {
  /// Makes a transition, and afterwards, with the lock released, what follows from it.
  @inline(__always)
  func transition<Result>(
    _ body: (inout SerialOrder, inout Consequences?) -> Result
  ) -> Result {
    var consequences: Consequences?
    let (result, hasNews) = withLock { order in
      (body(&order, &consequences), order.feed?.needsPublisher == true)
    }
    if hasNews { publish() }
    consequences?.perform()
    return result
  }

  /// Hands events on, unless another thread is doing so: it will see these too.
  @inline(never)
  private func publish() {
    var batch = withLock { $0.feed?.takeBatch(continuing: false) }
    while let (events, sinks) = batch {
      for event in events { for sink in sinks { sink.yield(event) } }
      batch = withLock { $0.feed?.takeBatch(continuing: true) }
    }
  }
}
