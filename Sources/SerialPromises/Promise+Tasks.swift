extension Promise {
  /// Goes on with the value, asynchronously.
  ///
  /// Cancelling the new promise cancels the handler's task.
  ///
  /// ```swift
  /// let page = login().then { user in try await load(user.name) }
  /// ```
  ///
  /// - Parameter handler: Makes another value of it. Throwing fails the new promise.
  /// - Returns: A promise of what the handler returns.
  public func then<Output: Sendable>(
    _ handler: @escaping @isolated(any) @Sendable (Value) async throws -> Output
  ) -> Promise<Output> {
    link(.step, in: handler.isolation) { .value(try await handler(try $0.get())) }
  }

  /// Goes on with the value, asynchronously, and with the promise that this leads to.
  ///
  /// Cancelling the new promise cancels the handler's task.
  ///
  /// ```swift
  /// let avatar = login().then { user in
  ///   fetchAvatar(of: try await refresh(user))
  /// }
  /// ```
  ///
  /// - Parameter handler: Begins further work. Throwing fails the new promise.
  /// - Returns: A promise that ends as the one that the handler returns.
  public func then<Output: Sendable>(
    _ handler: @escaping @isolated(any) @Sendable (Value) async throws -> Promise<Output>
  ) -> Promise<Output> {
    link(.step, in: handler.isolation) { .promise(try await handler(try $0.get()).erased) }
  }

  /// Puts a value in the place of a failure, asynchronously.
  ///
  /// ```swift
  /// let copy = fetch(mirror).recover { _ in try await load(origin) }
  /// ```
  ///
  /// - Parameter handler: Makes the value from the error. Throwing fails the new promise.
  /// - Returns: A promise of the value of this one or, if this fails, of the handler.
  public func recover(
    _ handler: @escaping @isolated(any) @Sendable (any Error) async throws -> Value
  ) -> Promise {
    link(.passage, in: handler.isolation) { outcome in
      guard case .failure(let error) = outcome else { return try .passOn(outcome) }
      return .value(try await handler(error))
    }
  }

  /// Ends a chain by dealing with its failure, asynchronously.
  ///
  /// ```swift
  /// fetch("missing").catch { error in
  ///   if await !isOffline() { show(error) }
  /// }
  /// ```
  ///
  /// - Parameter handler: Is given the error. Throwing fails the new promise.
  /// - Returns: A promise that is fulfilled when there was nothing to deal with, or it was.
  @discardableResult
  public func `catch`(
    _ handler: @escaping @isolated(any) @Sendable (any Error) async throws -> Void
  ) -> Promise<Void> {
    link(.ending, in: handler.isolation) { outcome in
      if case .failure(let error) = outcome { try await handler(error) }
      return .value(())
    }
  }

  /// Does something, asynchronously, however the promise ends, and passes the outcome on.
  ///
  /// If the new promise is cancelled, it is done as well, once; what it throws is then ignored.
  ///
  /// ```swift
  /// fetch(url).finally {
  ///   if await isOffline() { show("offline") }
  /// }
  /// ```
  ///
  /// - Parameter handler: Cleans up. What it throws takes the place of the outcome.
  /// - Returns: A promise that ends in the same way.
  @discardableResult
  public func finally(
    _ handler: @escaping @isolated(any) @Sendable () async throws -> Void
  ) -> Promise {
    link(.cleanup, in: handler.isolation) { outcome in
      try await handler()
      return try .passOn(outcome)
    }
  }

  // MARK: Awaiting

  /// The value, once it is there; demands it.
  ///
  /// Cancelling the task that awaits ends the wait with a `CancellationError`, and cancels the
  /// promise as ``cancel()`` does if nobody else wants its outcome.
  ///
  /// ```swift
  /// let text = try await fetch(url).value
  /// ```
  ///
  /// - Throws: Why the promise failed, or `CancellationError`; ``PromiseError/selfWait(_:)`` in a
  ///   step that would wait for itself, because the promise waits for its turn in that step's manager.
  nonisolated(nonsending) public var value: Value {
    get async throws {
      if erased.lifeline != nil { core.demand() }
      // On its own, because what follows needs room that a settled promise can do without.
      if let outcome = core.look() { return try outcome.get() }
      if RunningStep.current != nil, let step = core.deadlock(RunningStep.waitingForItself) {
        throw PromiseError.selfWait(step)
      }
      return try await settledValue()
    }
  }

  nonisolated(nonsending) private func settledValue() async throws -> Value {
    let awaiter = Awaiter<Value>(core)
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { awaiter.wait($0) }
    } onCancel: {
      awaiter.stop()
    }
  }
}

/// A task that awaits a promise.
private final class Awaiter<Value: Sendable>: Reaction, @unchecked Sendable {
  // Sendable as its superclass is: the continuation is set before the promise knows of this, and
  // is resumed once, by whoever takes this out of the promise's list.
  private let core: Core
  private var continuation: UnsafeContinuation<Value, any Error>?

  init(_ core: Core) {
    self.core = core
  }

  func wait(_ continuation: UnsafeContinuation<Value, any Error>) {
    self.continuation = continuation
    core.attach(self)
    // The task may have been cancelled before there was anything to withdraw.
    if Task.isCancelled { stop() }
  }

  func stop() {
    if core.withdraw(self, cancelling: true) {
      continuation?.resume(throwing: CancellationError())
    }
  }

  override var passesProgress: Bool { false }

  override func react(to source: Core, _ agenda: inout Agenda) {
    if let continuation { core.settledOutcome.resume(continuation) }
  }
}
