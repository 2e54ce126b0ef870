extension PromiseManager {
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
  public func events(bufferingNewest limit: Int = 1024) -> AsyncStream<StepEvent> {
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
