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
  /// Costs nothing without a listener. A listener that does not keep up loses events; it never holds
  /// up the queue. The sequence ends when the manager goes away, after the last events; listening
  /// does not keep the manager alive. In a task that is canceled the sequence ends at once.
  ///
  /// ```swift
  /// let events = manager.events()
  /// manager.add("upload") { then in upload(file) { error in then(error) } }
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
    // Not a stream with a continuation: its `yield` may call a listener's code, so it could only be
    // called after the lock, and events would need a second queue to keep their order.
    let listener = EventListener(order, limit: limit)
    return AsyncStream {
      await listener.next()
    } onCancel: {
      listener.cancel()
    }
  }
}
