import Dispatch

extension Promise {
  /// Blocks the thread until the promise is settled: for command-line code and tests.
  ///
  /// Demands the promise. Where it could only wait for ever it stops the program with a message: in
  /// a handler on which the promise depends, and on the main thread when a handler on which it
  /// depends has to run there.
  ///
  /// ```swift
  /// let sum = try Promise.on(.global()) { checksum(file) }.wait()
  /// ```
  ///
  /// - Parameter timeout: How long to wait; nil means for ever.
  /// - Returns: The value.
  /// - Throws: Why the promise failed, or ``PromiseError/timedOut(_:)``; the promise goes on then.
  ///   ``PromiseError/selfWait(_:)`` in a step that would wait for itself, because the promise waits
  ///   for its turn in that step's manager.
  @available(*, noasync, message: "await `value` instead")
  public func wait(timeout: Duration? = nil) throws -> Value {
    core.demand()
    if let outcome = core.look() { return try outcome.get() }
    let thread = ThreadIdentity()
    let deadlock = core.deadlock { order in
      let step = order.withLock { $0.isHandling(on: thread) ? $0.runningStep : nil }
      return step ?? RunningStep.waitingForItself(order)
    }
    if let deadlock { throw PromiseError.selfWait(deadlock) }
    if let reason = core.whyWaitingIsInVain() {
      preconditionFailure("\(core.origin.identity) was waited for \(reason)")
    }
    // What waits for this thread may be what settles the promise.
    Turn.current?.handOver()
    let waiter = Waiter()
    core.attach(waiter)
    if let timeout, waiter.semaphore.wait(timeout: .after(timeout)) == .timedOut {
      if core.withdraw(waiter, cancelling: false) { throw PromiseError.timedOut(timeout) }
    } else if timeout == nil {
      waiter.semaphore.wait()
    }
    guard let outcome = core.look() else { preconditionFailure("the promise is settled") }
    return try outcome.get()
  }
}

/// A thread that waits for a promise.
private final class Waiter: Reaction, @unchecked Sendable {
  // Sendable as its superclass is: it adds a constant only.
  let semaphore = DispatchSemaphore(value: 0)

  override func react(to source: Core, _ agenda: inout Agenda) {
    semaphore.signal()
  }
}

extension Core {
  /// Why the calling thread must not wait for this promise: what has to happen first needs it.
  fileprivate func whyWaitingIsInVain() -> String? {
    let turn = Turn.current
    let running = turn?.runningReaction ?? Turn.onQueue.current
    // As far as the chain was made here; what handlers will return cannot be known.
    let isMain = needsMainQueue && MainQueue.isCurrent
    guard running != nil || isMain else { return nil }
    var seen: Set<ObjectIdentifier> = []
    var frontier = [self]
    while let core = frontier.popLast() {
      guard seen.insert(ObjectIdentifier(core)).inserted else { continue }
      switch core.sources {
      case nil: break
      case .many(let junction):
        junction.forEachSource { if $1.isOnlyWay { frontier.append($0) } }
      case .one(let source, let reaction):
        guard reaction.isOnlyWay else { continue }
        // Either it runs on this thread now, or it comes after what does.
        let waitsForTurn = source === turn?.running && source.withLock { _ in reaction.isListed }
        if reaction === running || waitsForTurn && !reaction.isImmediate {
          return "in a handler that has to return first; return the promise from it instead"
        }
        if isMain && MainQueue.is(reaction.blockedQueue) {
          return "on the main thread, where a handler has to run first; wait on another thread"
        }
        frontier.append(source)
      }
    }
    return nil
  }
}
