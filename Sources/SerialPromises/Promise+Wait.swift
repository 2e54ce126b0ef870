import Dispatch

extension Promise {
  /// Blocks the thread until the promise is settled.
  ///
  /// For command-line code and tests.
  ///
  /// Demands the promise. Stops the program with a message if the wait would deadlock: in a handler
  /// that the promise depends on, and on the main thread if a dependency needs that thread (a
  /// handler or work of the main actor, or of `on: .main`). With a timeout, it reports
  /// ``Diagnostic/blockingWait(_:)`` instead, and waits. The check covers the dependencies at the
  /// beginning of the wait. It cannot cover promises that handlers return later.
  ///
  /// In a handler and on the main thread, takes time proportional to the number of dependencies.
  ///
  /// ```swift
  /// let sum = try Promise.on(.global()) { checksum(file) }.wait()
  /// ```
  ///
  /// - Parameter timeout: The maximum time to wait; nil means no limit.
  /// - Returns: The value.
  /// - Throws: The promise's error, or ``PromiseError/timedOut(_:)``; the promise then continues.
  ///   ``PromiseError/deadlock(_:)`` in a step that would deadlock, because the promise waits for
  ///   its turn in that step's manager.
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
    if let reason = core.deadlockReason() {
      let text = "\(core.origin.identity) was waited for \(reason)"
      core.origin.diagnostics.reportBlockingWait(timeout, text)
    }
    // The promises that wait for this thread may include one that settles this promise.
    Trampoline.current?.handOver()
    let waiter = Waiter()
    core.attach(waiter)
    let deadline = timeout.map(DispatchTime.after) ?? .distantFuture
    if waiter.semaphore.wait(timeout: deadline) == .timedOut, let timeout,
      core.withdraw(waiter, cancelling: false)
    {
      throw PromiseError.timedOut(timeout)
    }
    guard let outcome = core.poll() else { preconditionFailure("the promise is settled") }
    return try outcome.get()
  }
}

/// A thread that waits for a promise.
private final class Waiter: Reaction {
  // Sendable as its superclass: adds only a constant.
  let semaphore = DispatchSemaphore(value: 0)

  override func react(to source: Core, _ agenda: inout Agenda) {
    semaphore.signal()
  }
}

extension Core {
  /// The reason for which waiting on the calling thread would deadlock; nil if it would not.
  ///
  /// `throughTurns` is whether the managers whose turns are waited for are asked, too.
  func deadlockReason(throughTurns: Bool = true) -> String? {
    let turn = Trampoline.current
    let running = turn?.runningReaction?.id ?? Trampoline.onQueue.current.map(ObjectIdentifier.init)
    let isMain = MainQueue.isBlockedByWait
    guard running != nil || isMain else { return nil }
    let needsMain =
      "on the main thread, where something has to run first; await its `value`, or wait on another thread"
    var seen: Set<ObjectIdentifier> = []
    var frontier = [self]
    while let core = frontier.popLast() {
      guard seen.insert(ObjectIdentifier(core)).inserted else { continue }
      if isMain, throughTurns, core.withLock({ $0.turns }).contains(where: \.needsMainQueue) {
        return needsMain
      }
      let sources = core.sources
      guard case .one(let source, let reaction, _) = sources else {
        if isMain, core.waitsForMainQueue { return needsMain }
        sources?.forEachNeeded(by: core) { frontier.append($0) }
        continue
      }
      guard core.kind != .limit else { continue }
      // Either it runs on this thread now, or it follows the handler that does.
      let waitsForTurn =
        ObjectIdentifier(source) == turn?.running && source.withLock { _ in reaction.isListed }
      if ObjectIdentifier(reaction) == running || waitsForTurn && !reaction.isImmediate {
        return "in a handler that has to return first; return the promise from it instead"
      }
      // The link's own handler. It has run if the promise was resolved with another.
      if isMain, core.runsOnMainQueue, reaction === core { return needsMain }
      frontier.append(source)
    }
    return nil
  }
}
