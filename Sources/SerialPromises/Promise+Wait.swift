import Dispatch

extension Promise {
  /// Blocks the thread until the promise is settled: for command-line code and tests.
  ///
  /// Demands the promise. Without a timeout, it stops the program with a message where it could only
  /// wait for ever: in a handler on which the promise depends, and on the main thread when something
  /// on which it depends has to run there: a handler or work of the main actor, or with `on: .main`.
  /// That is found in everything that the promise waits for when the wait begins. What a handler
  /// returns later cannot be known.
  ///
  /// In a handler, and on the main thread, takes time in proportion to the promises that this waits
  /// for.
  ///
  /// ```swift
  /// let sum = try Promise.on(.global()) { checksum(file) }.wait()
  /// ```
  ///
  /// - Parameter timeout: How long to wait; nil means for ever.
  /// - Returns: The value.
  /// - Throws: Why the promise failed, or ``PromiseError/timedOut(_:)``; the promise goes on then.
  ///   ``PromiseError/deadlock(_:)`` in a step that would wait for itself, because the promise waits
  ///   for its turn in that step's manager.
  @available(*, noasync, message: "await `value` instead")
  public func wait(timeout: Duration? = nil) throws -> Value {
    core.demand()
    if let outcome = core.poll() { return try outcome.get() }
    let thread = ThreadIdentity()
    let deadlock = core.deadlock { order in
      let step = order.withLock { $0.isHandling(on: thread) ? $0.runningStep : nil }
      return step ?? RunningStep.deadlockedStep(order)
    }
    if let deadlock { throw PromiseError.deadlock(deadlock) }
    // With a timeout, the wait ends.
    if timeout == nil, let reason = core.deadlockReason() {
      // Not `preconditionFailure`, whose message a release build leaves out.
      fatalError("\(core.origin.identity) was waited for \(reason)")
    }
    // What waits for this thread may be what settles the promise.
    Trampoline.current?.handOver()
    let waiter = Waiter()
    core.attach(waiter)
    if let timeout, waiter.semaphore.wait(timeout: .after(timeout)) == .timedOut {
      if core.withdraw(waiter, cancelling: false) { throw PromiseError.timedOut(timeout) }
    } else if timeout == nil {
      waiter.semaphore.wait()
    }
    guard let outcome = core.poll() else { preconditionFailure("the promise is settled") }
    return try outcome.get()
  }
}

/// A thread that waits for a promise.
private final class Waiter: Reaction, @unchecked Sendable {
  // Sendable as its superclass is: it adds a constant only.
  let semaphore = DispatchSemaphore(value: 0)

  override var passesProgress: Bool { false }

  override func react(to source: Core, _ agenda: inout Agenda) {
    semaphore.signal()
  }
}

extension Core {
  /// Why the calling thread must not wait for this promise: what has to happen first needs it.
  fileprivate func deadlockReason() -> String? {
    let turn = Trampoline.current
    let running = turn?.runningReaction ?? Trampoline.onQueue.current
    let isMain = MainQueue.isUsed.load(ordering: .relaxed) && MainQueue.isCurrent
    guard running != nil || isMain else { return nil }
    let needsMain = "on the main thread, where something has to run first; wait on another thread"
    var seen: Set<ObjectIdentifier> = []
    var frontier = [self]
    while let core = frontier.popLast() {
      guard seen.insert(ObjectIdentifier(core)).inserted else { continue }
      if isMain, core.withLock({ $0.turns }).contains(where: { $0.withLock { $0.usesMainQueue } }) {
        return needsMain
      }
      switch core.sources {
      case nil:
        // Asked last: what is settled needs nothing.
        if isMain, core.runsOnMainQueue, core.outcome == nil { return needsMain }
      case .many(let junction):
        if isMain, junction.needsMainQueue { return needsMain }
        junction.forEachSource { if $1.isExclusive { frontier.append($0) } }
      case .one(let source, let reaction):
        guard reaction.isExclusive else { continue }
        // Either it runs on this thread now, or it follows the handler that does.
        let waitsForTurn = source === turn?.running && source.withLock { _ in reaction.isListed }
        if reaction === running || waitsForTurn && !reaction.isImmediate {
          return "in a handler that has to return first; return the promise from it instead"
        }
        // Its own handler; it has run when the promise has been resolved with another.
        if isMain, core.runsOnMainQueue, reaction === core { return needsMain }
        frontier.append(source)
      }
    }
    return nil
  }
}
