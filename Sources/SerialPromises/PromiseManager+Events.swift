extension PromiseManager {
  /// Returns the events of the manager from now on, in order.
  ///
  /// Call it before the first `add`: a step that was added or has started before sends only its
  /// later events. Each step that is added later ends with one
  /// ``StepEvent/finished(_:_:duration:)``.
  ///
  /// Has no cost without a listener. A listener that is too slow loses events and never delays the
  /// queue. The sequence ends after the last events when the manager is released; listening does
  /// not retain the manager. In a canceled task, the sequence ends immediately.
  ///
  /// ```swift
  /// let events = manager.events()
  /// manager.add("upload") { then in upload(file) { error in then(error) } }
  /// listening: for await event in events {
  ///   switch event {
  ///   case .added(let step): show("\(step) waits")
  ///   case .started(let step): show("\(step) runs")
  ///   case .finished(let step, let outcome, _): show("\(step) \(outcome)")
  ///   case .idle: break listening
  ///   }
  /// }
  /// ```
  ///
  /// - Parameter limit: The number of events that are buffered for a slow listener. Beyond it, the
  ///   oldest are dropped.
  /// - Returns: A sequence for one listener.
  public func events(bufferingNewest limit: Int = 1024) -> AsyncStream<StepEvent> {
    // Not a stream with a continuation: `yield` may run a listener's code, so it must follow the
    // release of the lock, and a second queue would be needed to keep the events in order.
    let listener = EventListener(order, limit: limit)
    return AsyncStream {
      await listener.next()
    } onCancel: {
      listener.cancel()
    }
  }
}
