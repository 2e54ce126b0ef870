import Dispatch

// The words of a chain. Those with a synchronous handler call it on a queue or, if its closure is
// isolated to an actor, there; those with an asynchronous one run it in a task of its own. More than
// these two declarations a word, or two meanings of one, and long chains would take the compiler minutes.

extension Promise {
  // MARK: Values

  /// Goes on with the promise that a handler makes of the value.
  ///
  /// ```swift
  /// let avatar = login()
  ///   .then { user in fetchAvatar(of: user) }
  ///   .map { image in resize(image) }
  /// ```
  ///
  /// For a handler that returns a plain value, there is ``map(on:_:)``.
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue. A closure that is isolated to an
  ///     actor runs there.
  ///   - handler: Begins the work. Throwing fails the new promise. Not called when this promise
  ///     fails: the new one then fails with the same error.
  /// - Returns: A promise that ends as the one that the handler returns (Promises/A+ 2.3.2). If the
  ///   handler returns that very promise, it fails with ``PromiseError/resolvedWithItself(_:)``.
  @inlinable
  public func then<Output: Sendable>(
    on queue: DispatchQueue? = nil,
    _ handler: @escaping @isolated(any) @Sendable (Value) throws -> Promise<Output>
  ) -> Promise<Output> {
    let isolation = handler.isolation
    let handler = unisolated(handler)
    return link(.step, on: queue, isolation) { .promise(try handler(try $0.get()).erased) }
  }

  /// Goes on with the promise that asynchronous work makes of the value.
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

  /// Turns the value into another.
  ///
  /// ```swift
  /// let name = login().map { user in user.name }
  /// ```
  ///
  /// A promise that the handler returns stays a value, which is not waited for; see
  /// ``then(on:_:)``. In the progress, a synchronous handler counts nothing.
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue. A closure that is isolated to an
  ///     actor runs there.
  ///   - transform: Makes the other value. Throwing fails the new promise. Not called when this
  ///     promise fails: the new one then fails with the same error.
  /// - Returns: A promise of the other value (Promises/A+ 2.2.7).
  @inlinable
  public func map<Output: Sendable>(
    on queue: DispatchQueue? = nil,
    _ transform: @escaping @isolated(any) @Sendable (Value) throws -> Output
  ) -> Promise<Output> {
    let isolation = transform.isolation
    let transform = unisolated(transform)
    return link(.passage, on: queue, isolation) { .value(try transform(try $0.get())) }
  }

  /// Turns the value into another, asynchronously.
  ///
  /// Cancelling the new promise cancels the handler's task. In the progress, it counts as one more
  /// part of the work.
  ///
  /// ```swift
  /// let page = login().map { user in try await load(user.name) }
  /// ```
  ///
  /// - Parameter transform: Makes the other value. Throwing fails the new promise.
  /// - Returns: A promise of the other value.
  public func map<Output: Sendable>(
    _ transform: @escaping @isolated(any) @Sendable (Value) async throws -> Output
  ) -> Promise<Output> {
    link(.step, in: transform.isolation) { .value(try await transform(try $0.get())) }
  }

  // MARK: Outcomes

  /// Has a look at the outcome, which goes on down the chain.
  ///
  /// ```swift
  /// let page = fetch(url).tap { outcome in show(outcome) }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue. A closure that is isolated to an
  ///     actor runs there.
  ///   - handler: Is given the outcome.
  /// - Returns: A promise that ends in the same way.
  public func tap(
    on queue: DispatchQueue? = nil,
    _ handler: @escaping @isolated(any) @Sendable (Result<Value, any Error>) -> Void
  ) -> Promise {
    let isolation = handler.isolation
    let handler = unisolated(handler)
    return link(.passage, on: queue, isolation) {
      handler($0.result())
      return try .passOn($0)
    }
  }

  /// Does something however the promise ends, and passes the outcome on.
  ///
  /// If the new promise is cancelled, it is done as well, once; what it throws is then ignored.
  ///
  /// ```swift
  /// let length =
  ///   page
  ///   .map { text in text.count }
  ///   .finally { show("loaded") }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue. A closure that is isolated to an
  ///     actor runs there.
  ///   - handler: Cleans up. What it throws takes the place of the outcome.
  /// - Returns: A promise that ends in the same way.
  @discardableResult
  public func finally(
    on queue: DispatchQueue? = nil, _ handler: @escaping @isolated(any) @Sendable () throws -> Void
  ) -> Promise {
    let isolation = handler.isolation
    let handler = unisolated(handler)
    return link(.cleanup, on: queue, isolation) {
      try handler()
      return try .passOn($0)
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

  // MARK: Failures

  /// Puts a value in the place of a failure.
  ///
  /// ```swift
  /// let text = fetch("missing").recover { _ in "no text" }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue. A closure that is isolated to an
  ///     actor runs there.
  ///   - handler: Makes the value from the error. Throwing fails the new promise.
  /// - Returns: A promise of the value of this one or, if this fails, of the handler.
  public func recover(
    on queue: DispatchQueue? = nil,
    _ handler: @escaping @isolated(any) @Sendable (any Error) throws -> Value
  ) -> Promise {
    let isolation = handler.isolation
    let handler = unisolated(handler)
    return link(.passage, on: queue, isolation) { outcome in
      guard case .failure(let error) = outcome else { return try .passOn(outcome) }
      return .value(try handler(error))
    }
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

  /// Puts another promise in the place of a failure.
  ///
  /// ```swift
  /// let page = fetch(mirror).recover { _ in fetch(origin) }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue. A closure that is isolated to an
  ///     actor runs there.
  ///   - handler: Begins something else. Throwing fails the new promise.
  /// - Returns: A promise of the value of this one or, if this fails, of the handler's promise.
  @_disfavoredOverload  // or a handler that only throws would be ambiguous
  public func recover(
    on queue: DispatchQueue? = nil,
    _ handler: @escaping @isolated(any) @Sendable (any Error) throws -> Promise<Value>
  ) -> Promise {
    let isolation = handler.isolation
    let handler = unisolated(handler)
    return link(.passage, on: queue, isolation) { outcome in
      guard case .failure(let error) = outcome else { return try .passOn(outcome) }
      return .promise(try handler(error).erased)
    }
  }

  /// Puts a value in the place of a failure of one type; others go on down the chain.
  ///
  /// ```swift
  /// let length = fetch("missing")
  ///   .map { text in try parse(text) }
  ///   .recover(from: Missing.self) { _ in 0 }  // what `parse` throws is still a failure
  /// ```
  ///
  /// - Parameters:
  ///   - type: The type of error that is dealt with here.
  ///   - queue: Where the handler runs; nil means on a global queue. A closure that is isolated to an
  ///     actor runs there.
  ///   - handler: Makes the value from the error. Throwing fails the new promise.
  /// - Returns: A promise of the value of this one or, after such a failure, of the handler.
  public func recover<Failure: Error>(
    from type: Failure.Type, on queue: DispatchQueue? = nil,
    _ handler: @escaping @isolated(any) @Sendable (Failure) throws -> Value
  ) -> Promise {
    let isolation = handler.isolation
    let handler = unisolated(handler)
    return link(.passage, on: queue, isolation) { outcome in
      guard let failure = outcome.failure(of: type) else { return try .passOn(outcome) }
      return .value(try handler(failure))
    }
  }

  /// Puts another promise in the place of a failure of one type; others go on down the chain.
  ///
  /// ```swift
  /// let copy = fetch(mirror).recover(from: Missing.self) { _ in fetch(origin) }
  /// ```
  ///
  /// - Parameters:
  ///   - type: The type of error that is dealt with here.
  ///   - queue: Where the handler runs; nil means on a global queue. A closure that is isolated to an
  ///     actor runs there.
  ///   - handler: Begins something else. Throwing fails the new promise.
  /// - Returns: A promise of the value of this one or, after such a failure, of the handler's
  ///   promise.
  @_disfavoredOverload  // or a handler that only throws would be ambiguous
  public func recover<Failure: Error>(
    from type: Failure.Type, on queue: DispatchQueue? = nil,
    _ handler: @escaping @isolated(any) @Sendable (Failure) throws -> Promise<Value>
  ) -> Promise {
    let isolation = handler.isolation
    let handler = unisolated(handler)
    return link(.passage, on: queue, isolation) { outcome in
      guard let failure = outcome.failure(of: type) else { return try .passOn(outcome) }
      return .promise(try handler(failure).erased)
    }
  }

  /// Ends a chain by dealing with its failure.
  ///
  /// ```swift
  /// fetch("missing")
  ///   .map { text in show(text) }
  ///   .catch { error in show(error) }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue. A closure that is isolated to an
  ///     actor runs there.
  ///   - handler: Is given the error. Throwing fails the new promise.
  /// - Returns: A promise that is fulfilled when there was nothing to deal with, or it was.
  @discardableResult
  public func `catch`(
    on queue: DispatchQueue? = nil,
    _ handler: @escaping @isolated(any) @Sendable (any Error) throws -> Void
  ) -> Promise<Void> {
    let isolation = handler.isolation
    let handler = unisolated(handler)
    return link(.ending, on: queue, isolation) { outcome in
      if case .failure(let error) = outcome { try handler(error) }
      return .value(())
    }
  }

  // MARK: The mechanism

  /// Makes a promise of what a handler makes of this one's outcome.
  ///
  /// The handler runs on the actor of `isolation` or, without one, on the queue; it has no isolation of
  /// its own any more.
  @inlinable
  func link<Output: Sendable>(
    _ kind: LinkKind, on queue: DispatchQueue? = nil, _ isolation: (any Actor)? = nil,
    _ handler: consuming @escaping LinkHandler
  ) -> Promise<Output> {
    guard let isolation else { return Promise<Output>(erased.link(kind, on: queue, handler)) }
    return Promise<Output>(erased.link(kind, isolatedTo: isolation, handler))
  }

  /// Makes a promise of what an asynchronous handler, in some isolation, makes of this one's outcome.
  func link<Output: Sendable>(
    _ kind: LinkKind, in isolation: (any Actor)?, _ handler: @escaping TaskLink.Handler
  ) -> Promise<Output> {
    Promise<Output>(erased.link(kind, isOnMainQueue: MainQueue.is(isolation), handler))
  }
}

extension Outcome {
  /// The error, if it is of this type.
  fileprivate func failure<Failure: Error>(of type: Failure.Type) -> Failure? {
    if case .failure(let error) = self { error as? Failure } else { nil }
  }
}
