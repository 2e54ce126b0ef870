import Dispatch

// The operators of a chain. A synchronous handler runs on a queue or on the actor of its isolation;
// an asynchronous handler runs in its own task. Each operator has only these two overloads without
// a label, and a single meaning: more would make the compiler take minutes for long chains.
// `finally` has one: two would double the time for the links before it. With `on:`, a handler
// belongs to no actor: otherwise it would silently run on the actor of the code around it, and not
// on the queue.

extension Promise {
  // MARK: Values

  /// Continues the chain with the promise that a handler returns.
  ///
  /// ```swift
  /// let avatar = login()
  ///   .then { user in fetchAvatar(of: user) }
  ///   .map { image in resize(image) }
  /// ```
  ///
  /// For a handler that returns a plain value, use ``map(_:)-6zxja``.
  ///
  /// - Parameter handler: Starts further work. Throwing fails the new promise. Not called if this
  ///   promise fails: the new promise then fails with the same error. A closure isolated to an
  ///   actor runs on that actor.
  /// - Returns: A promise with the outcome of the handler's promise (Promises/A+ 2.3.2). If the
  ///   handler returns that very promise, it fails with ``PromiseError/resolvedWithItself(_:)``.
  @inlinable
  public func then<Output: Sendable>(
    @_inheritActorContext
    _ handler: @escaping @isolated(any) @Sendable (Value) throws -> Promise<Output>
  ) -> Promise<Output> {
    let isolation = handler.isolation
    let handler = unisolated(handler)
    return link(.step, isolation) { .promise(try handler(try $0.get()).erased) }
  }

  /// Continues the chain with the promise that a handler on a dispatch queue returns.
  ///
  /// ```swift
  /// let avatar = login().then(on: .main) { user in fetchAvatar(of: user) }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: The queue of the handler.
  ///   - handler: The same as for ``then(_:)-765y2``, but it is nonisolated.
  /// - Returns: A promise with the outcome of the handler's promise.
  public func then<Output: Sendable>(
    on queue: DispatchQueue, _ handler: @escaping @Sendable (Value) throws -> Promise<Output>
  ) -> Promise<Output> {
    link(.step, on: queue) { .promise(try handler(try $0.get()).erased) }
  }

  /// Continues the chain with the promise that an asynchronous handler returns.
  ///
  /// Canceling the new promise cancels the handler's task.
  ///
  /// ```swift
  /// let avatar = login().then { user in
  ///   fetchAvatar(of: try await refresh(user))
  /// }
  /// ```
  ///
  /// - Parameter handler: Starts further work. Throwing fails the new promise.
  /// - Returns: A promise with the outcome of the handler's promise.
  public func then<Output: Sendable>(
    @_inheritActorContext
    _ handler: @escaping @isolated(any) @Sendable (Value) async throws -> Promise<Output>
  ) -> Promise<Output> {
    link(.step, in: handler.isolation) { .promise(try await handler(try $0.get()).erased) }
  }

  /// Transforms the value.
  ///
  /// ```swift
  /// let name = login().map { user in user.name }
  /// ```
  ///
  /// A promise that the handler returns is treated as a value and not awaited; see
  /// ``then(_:)-765y2``. A synchronous handler does not count in the progress.
  ///
  /// - Parameter transform: Returns the new value. Throwing fails the new promise. Not called if
  ///   this promise fails: the new promise then fails with the same error. A closure isolated to an
  ///   actor runs on that actor.
  /// - Returns: A promise of the new value (Promises/A+ 2.2.7).
  @inlinable
  public func map<Output: Sendable>(
    @_inheritActorContext
    _ transform: @escaping @isolated(any) @Sendable (Value) throws -> Output
  ) -> Promise<Output> {
    let isolation = transform.isolation
    let transform = unisolated(transform)
    return link(.passage, isolation) { .value(try transform(try $0.get())) }
  }

  /// Transforms the value on a dispatch queue.
  ///
  /// ```swift
  /// let sum = fetch(url).map(on: .global()) { text in checksum(text) }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: The queue of the handler.
  ///   - transform: The same as for ``map(_:)-6zxja``, but it is nonisolated.
  /// - Returns: A promise of the new value.
  public func map<Output: Sendable>(
    on queue: DispatchQueue, _ transform: @escaping @Sendable (Value) throws -> Output
  ) -> Promise<Output> {
    link(.passage, on: queue) { .value(try transform(try $0.get())) }
  }

  /// Transforms the value asynchronously.
  ///
  /// Canceling the new promise cancels the handler's task. In the progress, the handler counts as a
  /// part of the work.
  ///
  /// ```swift
  /// let page = login().map { user in try await load(user.name) }
  /// ```
  ///
  /// - Parameter transform: Returns the new value. Throwing fails the new promise.
  /// - Returns: A promise of the new value.
  public func map<Output: Sendable>(
    @_inheritActorContext
    _ transform: @escaping @isolated(any) @Sendable (Value) async throws -> Output
  ) -> Promise<Output> {
    link(.step, in: transform.isolation) { .value(try await transform(try $0.get())) }
  }

  // MARK: Outcomes

  /// Observes the outcome and passes it on.
  ///
  /// ```swift
  /// let page = fetch(url).tap { outcome in show(outcome) }
  /// ```
  ///
  /// - Parameter handler: Receives the outcome. A closure isolated to an actor runs on that actor.
  /// - Returns: A promise with the same outcome.
  public func tap(
    @_inheritActorContext
    _ handler: @escaping @isolated(any) @Sendable (Result<Value, any Error>) -> Void
  ) -> Promise {
    let isolation = handler.isolation
    let handler = unisolated(handler)
    return link(.passage, isolation) {
      try handler($0.result())
      return try .passOn($0)
    }
  }

  /// Runs a handler for any outcome, and passes the outcome on.
  ///
  /// A synchronous handler runs on no thread of the cooperative pool, unless it is isolated to an
  /// actor, or [the system is an older Apple system](doc:StrictConcurrency#Platforms).
  ///
  /// If the new promise is canceled, the handler runs as well, once, and its error is ignored.
  ///
  /// ```swift
  /// let length =
  ///   page
  ///   .map { text in text.count }
  ///   .finally { show("loaded") }
  /// ```
  ///
  /// The handler may await:
  ///
  /// ```swift
  /// fetch(url).finally {
  ///   if await isOffline() { show("offline") }
  /// }
  /// ```
  ///
  /// - Parameter handler: Cleans up, synchronously or asynchronously, in its own task. An error
  ///   that it throws replaces the outcome. A closure isolated to an actor runs on that actor.
  /// - Returns: A promise with the same outcome.
  @discardableResult
  public func finally(
    @_inheritActorContext
    _ handler: @escaping @isolated(any) @Sendable () async throws -> Void
  ) -> Promise {
    link(.cleanup, in: handler.isolation) { outcome in
      try await handler()
      return try .passOn(outcome)
    }
  }

  /// Runs a handler on a dispatch queue for any outcome, and passes the outcome on.
  ///
  /// If the new promise is canceled, the handler runs as well, once, and its error is ignored.
  ///
  /// ```swift
  /// fetch(url).finally(on: .main) { show("loaded") }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: The queue of the handler.
  ///   - handler: Cleans up. An error that it throws replaces the outcome.
  /// - Returns: A promise with the same outcome.
  @discardableResult
  public func finally(
    on queue: DispatchQueue, _ handler: @escaping @Sendable () throws -> Void
  ) -> Promise {
    link(.cleanup, on: queue) {
      try handler()
      return try .passOn($0)
    }
  }

  // MARK: Failures

  /// Replaces a failure with a value.
  ///
  /// ```swift
  /// let text = fetch("missing").recover { _ in "no text" }
  /// ```
  ///
  /// - Parameter handler: Returns a value for the error. Throwing fails the new promise. A closure
  ///   isolated to an actor runs on that actor.
  /// - Returns: A promise of this promise's value or, if this promise fails, the handler's.
  public func recover(
    @_inheritActorContext
    _ handler: @escaping @isolated(any) @Sendable (any Error) throws -> Value
  ) -> Promise {
    recover(from: (any Error).self, handler)
  }

  /// Replaces a failure with a value, asynchronously.
  ///
  /// ```swift
  /// let copy = fetch(mirror).recover { _ in try await load(origin) }
  /// ```
  ///
  /// - Parameter handler: Returns a value for the error. Throwing fails the new promise.
  /// - Returns: A promise of this promise's value or, if this promise fails, the handler's.
  public func recover(
    @_inheritActorContext
    _ handler: @escaping @isolated(any) @Sendable (any Error) async throws -> Value
  ) -> Promise {
    link(.passage, in: handler.isolation) { outcome in
      guard case .failure(let error) = outcome else { return try .passOn(outcome) }
      return .value(try await handler(error))
    }
  }

  /// Replaces a failure with another promise.
  ///
  /// ```swift
  /// let page = fetch(mirror).recover { _ in fetch(origin) }
  /// ```
  ///
  /// - Parameter handler: Starts alternative work. Throwing fails the new promise. A closure
  ///   isolated to an actor runs on that actor.
  /// - Returns: A promise of this promise's value or, if this promise fails, the value of
  ///   the handler's promise.
  @_disfavoredOverload  // or a handler that only throws would be ambiguous
  public func recover(
    @_inheritActorContext
    _ handler: @escaping @isolated(any) @Sendable (any Error) throws -> Promise<Value>
  ) -> Promise {
    recover(from: (any Error).self, handler)
  }

  /// Replaces a failure of one type with a value; passes other failures on.
  ///
  /// ```swift
  /// let length = fetch("missing")
  ///   .map { text in try parse(text) }
  ///   // What `parse` throws is still a failure.
  ///   .recover(from: Missing.self) { _ in 0 }
  /// ```
  ///
  /// `when`, `retry` and `any` wrap the error: recover before them, or from the type of the
  /// wrapper; see <doc:OutOfCallbackHell#Conditions>.
  ///
  /// - Parameters:
  ///   - type: The type of the error.
  ///   - handler: Returns a value for the error. Throwing fails the new promise.
  /// - Returns: A promise of this promise's value or, after such a failure, the handler's.
  public func recover<Failure: Error>(
    from type: Failure.Type,
    @_inheritActorContext
    _ handler: @escaping @isolated(any) @Sendable (Failure) throws -> Value
  ) -> Promise {
    let isolation = handler.isolation
    let handler = unisolated(handler)
    return link(.passage, isolation) { outcome in
      guard let failure = outcome.failure(of: type) else { return try .passOn(outcome) }
      return .value(try handler(failure))
    }
  }

  /// Replaces a failure of one type with another promise; passes other failures on.
  ///
  /// ```swift
  /// let copy = fetch(mirror)
  ///   .recover(from: Missing.self) { _ in fetch(origin) }
  /// ```
  ///
  /// Wrapped errors pass, as in ``recover(from:_:)-8wc2t``.
  ///
  /// - Parameters:
  ///   - type: The type of the error.
  ///   - handler: Starts alternative work. Throwing fails the new promise.
  /// - Returns: A promise of this promise's value or, after such a failure, the value
  ///   of the handler's promise.
  @_disfavoredOverload  // or a handler that only throws would be ambiguous
  public func recover<Failure: Error>(
    from type: Failure.Type,
    @_inheritActorContext
    _ handler: @escaping @isolated(any) @Sendable (Failure) throws -> Promise<Value>
  ) -> Promise {
    let isolation = handler.isolation
    let handler = unisolated(handler)
    return link(.passage, isolation) { outcome in
      guard let failure = outcome.failure(of: type) else { return try .passOn(outcome) }
      return .promise(try handler(failure).erased)
    }
  }

  /// Ends a chain by handling its failure.
  ///
  /// ```swift
  /// fetch("missing")
  ///   .map { text in show(text) }
  ///   .catch { error in show(error) }
  /// ```
  ///
  /// - Parameter handler: Receives the error. Throwing fails the new promise. A closure isolated to
  ///   an actor runs on that actor.
  /// - Returns: A promise that is fulfilled if there was no failure, or it was handled.
  @discardableResult
  public func `catch`(
    @_inheritActorContext
    _ handler: @escaping @isolated(any) @Sendable (any Error) throws -> Void
  ) -> Promise<Void> {
    let isolation = handler.isolation
    let handler = unisolated(handler)
    return link(.ending, isolation) { outcome in
      if case .failure(let error) = outcome { try handler(error) }
      return .value(())
    }
  }

  // MARK: Links

  /// Derives a promise with a synchronous handler.
  ///
  /// The handler runs on the actor of `isolation` or, without one, on the queue. Its own isolation
  /// has been removed.
  @inlinable
  func link<Output: Sendable>(
    _ kind: LinkKind, on queue: DispatchQueue? = nil, _ isolation: (any Actor)? = nil,
    _ handler: consuming @escaping LinkHandler
  ) -> Promise<Output> {
    guard let isolation else { return Promise<Output>(erased.link(kind, on: queue, handler)) }
    return Promise<Output>(erased.link(kind, isolatedTo: isolation, handler))
  }

  /// Derives a promise with an asynchronous handler.
  func link<Output: Sendable>(
    _ kind: LinkKind, in isolation: (any Actor)?, _ handler: @escaping AsyncLinkHandler
  ) -> Promise<Output> {
    Promise<Output>(erased.link(kind, .async(handler), isOnMainQueue: MainQueue.is(isolation)))
  }
}

extension Outcome {
  /// The error, if it has this type.
  fileprivate func failure<Failure: Error>(of type: Failure.Type) -> Failure? {
    if case .failure(let error) = self { error as? Failure } else { nil }
  }
}
