extension PromiseManager {
  /// What happens in a manager.
  ///
  /// ```swift
  /// for await event in events {
  ///   switch event {
  ///   case .added(let step): show("\(step) waits")
  ///   case .started(let step): show("\(step) runs")
  ///   case .finished(let step, _, let duration): show("\(step) took \(duration ?? .zero)")
  ///   case .cancelled(let step): show("\(step) will not run")
  ///   case .idle: return
  ///   }
  /// }
  /// ```
  public enum Event: Sendable {
    /// A step entered the queue.
    case added(StepIdentity)
    /// A step's handler is about to be called.
    case started(StepIdentity)
    /// A step that had started is over. The duration is nil if nobody listened when it started.
    case finished(StepIdentity, StepOutcome, duration: Duration?)
    /// A step that waited was cancelled and will not run.
    case cancelled(StepIdentity)
    /// Nothing runs and nothing waits any more.
    case idle
  }

  /// The events from now on, in their order.
  ///
  /// Costs nothing when nobody listens. The sequence ends when the manager goes away; listening
  /// does not keep it alive.
  ///
  /// ```swift
  /// let events = manager.events()
  /// manager.add(Step("upload") { then in upload(file) { error in then(error) } })
  /// for await event in events {
  ///   if case .finished(let step, let outcome, _) = event { show("\(step) \(outcome)") }
  ///   if case .idle = event { break }
  /// }
  /// ```
  ///
  /// - Parameter limit: How many events are kept for a listener that does not keep up; when there
  ///   are more, the oldest are dropped.
  /// - Returns: A sequence for one listener.
  public func events(bufferingNewest limit: Int = 1024) -> AsyncStream<Event> {
    let (stream, sink) = AsyncStream.makeStream(
      of: Event.self, bufferingPolicy: .bufferingNewest(limit))
    let order = order
    let number = order.withLock { $0.listen(sink) }
    sink.onTermination = { _ in
      let removed = order.withLock { $0.feed?.removeSink(number) }
      withExtendedLifetime(removed) {}
    }
    return stream
  }
}
