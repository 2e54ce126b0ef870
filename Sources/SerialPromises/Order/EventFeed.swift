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
  private var isEnding = false
  private var began: ContinuousClock.Instant?

  /// Whether anybody listens; if not, no event is made.
  var isWatched: Bool { !sinks.isEmpty }

  /// Whether there is something that no thread is handing on.
  var needsPublisher: Bool { hasNews && !isPublishing }

  private var hasNews: Bool { !outbox.isEmpty || (isEnding && isWatched) }

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

  /// Nothing more will happen: the sequences end, after what is still to be handed on.
  func end() {
    isEnding = true
  }

  typealias Batch = (
    events: [PromiseManager.Event], sinks: [AsyncStream<PromiseManager.Event>.Continuation],
    isLast: Bool
  )

  /// Takes what is there to be handed on; nil, and no longer publishing, when there is nothing.
  func takeBatch(continuing: Bool) -> Batch? {
    if isPublishing && !continuing { return nil }
    isPublishing = hasNews
    guard isPublishing else { return nil }
    defer {
      outbox = []
      if isEnding { sinks = [:] }
    }
    return (outbox, Array(sinks.values), isEnding)
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
    while let (events, sinks, isLast) = batch {
      for event in events { for sink in sinks { sink.yield(event) } }
      if isLast { for sink in sinks { sink.finish() } }
      batch = withLock { $0.feed?.takeBatch(continuing: true) }
    }
  }
}
