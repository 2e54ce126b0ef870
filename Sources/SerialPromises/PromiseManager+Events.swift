extension PromiseManager {
  /// What happens in a manager.
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
