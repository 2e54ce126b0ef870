import Dispatch

// The words of a chain, with synchronous handlers. `Promise+Tasks.swift` has them with asynchronous
// ones, `Promise+MainActor.swift` with those of the main actor.

extension Promise {
  /// Goes on with the value.
  ///
  /// ```swift
  /// let greeting = login().then { user in "Hello, \(user.name)" }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue.
  ///   - handler: Makes another value of it. Throwing fails the new promise. Not called when this
  ///     promise fails: the new one then fails with the same error.
  /// - Returns: A promise of what the handler returns (Promises/A+ 2.2.7).
  @inlinable
  public func then<Output: Sendable>(
    on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (Value) throws -> Output
  ) -> Promise<Output> {
    link(.step, on: queue) { .value(try handler(try $0.get())) }
  }

  /// Goes on with the value, with further work.
  ///
  /// ```swift
  /// let avatar = login()
  ///   .then { user in fetchAvatar(of: user) }
  ///   .then { image in resize(image) }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue.
  ///   - handler: Begins the work. Throwing fails the new promise. Not called when this promise
  ///     fails: the new one then fails with the same error.
  /// - Returns: A promise that ends as the one that the handler returns (Promises/A+ 2.3.2). If the
  ///   handler returns that very promise, it fails with ``PromiseError/resolvedWithItself(_:)``.
  @inlinable
  public func then<Output: Sendable>(
    on queue: DispatchQueue? = nil,
    _ handler: @escaping @Sendable (Value) throws -> Promise<Output>
  ) -> Promise<Output> {
    link(.step, on: queue) { .promise(try handler(try $0.get()).erased) }
  }

  /// Turns the value into another; unlike with `then`, a promise stays a value, and nothing is
  /// counted as a step of its own in the progress.
  ///
  /// ```swift
  /// let name = login().map { user in user.name }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue.
  ///   - transform: Makes the other value. Throwing fails the new promise.
  /// - Returns: A promise of the other value.
  @inlinable
  public func map<Output: Sendable>(
    on queue: DispatchQueue? = nil, _ transform: @escaping @Sendable (Value) throws -> Output
  ) -> Promise<Output> {
    link(.passage, on: queue) { .value(try transform(try $0.get())) }
  }

  /// Has a look at the value, which goes on down the chain.
  ///
  /// ```swift
  /// let avatar = login()
  ///   .get { user in show("\(user.name) is here") }
  ///   .then { user in fetchAvatar(of: user) }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue.
  ///   - handler: Is given the value. Throwing fails the new promise.
  /// - Returns: A promise of the same value.
  public func get(
    on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (Value) throws -> Void
  ) -> Promise {
    link(.passage, on: queue) {
      try handler(try $0.get())
      return try .passOn($0)
    }
  }

  /// Has a look at the outcome, which goes on down the chain.
  ///
  /// ```swift
  /// let page = fetch(url).tap { outcome in show(outcome) }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue.
  ///   - handler: Is given the outcome.
  /// - Returns: A promise that ends in the same way.
  public func tap(
    on queue: DispatchQueue? = nil,
    _ handler: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) -> Promise {
    link(.passage, on: queue) {
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
  ///   .then { text in text.count }
  ///   .finally { show("loaded") }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue.
  ///   - handler: Cleans up. What it throws takes the place of the outcome.
  /// - Returns: A promise that ends in the same way.
  @discardableResult
  public func finally(
    on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable () throws -> Void
  ) -> Promise {
    link(.cleanup, on: queue) {
      try handler()
      return try .passOn($0)
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
  ///   - queue: Where the handler runs; nil means on a global queue.
  ///   - handler: Makes the value from the error. Throwing fails the new promise.
  /// - Returns: A promise of the value of this one or, if this fails, of the handler.
  public func recover(
    on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (any Error) throws -> Value
  ) -> Promise {
    link(.passage, on: queue) { outcome in
      guard case .failure(let error) = outcome else { return try .passOn(outcome) }
      return .value(try handler(error))
    }
  }

  /// Puts another promise in the place of a failure.
  ///
  /// ```swift
  /// let page = fetch(mirror).recover { _ in fetch(origin) }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue.
  ///   - handler: Begins something else. Throwing fails the new promise.
  /// - Returns: A promise of the value of this one or, if this fails, of the handler's promise.
  @_disfavoredOverload  // or a handler that only throws would be ambiguous
  public func recover(
    on queue: DispatchQueue? = nil,
    _ handler: @escaping @Sendable (any Error) throws -> Promise<Value>
  ) -> Promise {
    link(.passage, on: queue) { outcome in
      guard case .failure(let error) = outcome else { return try .passOn(outcome) }
      return .promise(try handler(error).erased)
    }
  }

  /// Puts a value in the place of a failure of one type; others go on down the chain.
  ///
  /// ```swift
  /// let length = fetch("missing")
  ///   .then { text in try parse(text) }
  ///   .recover(from: Missing.self) { _ in 0 }  // what `parse` throws is still a failure
  /// ```
  ///
  /// - Parameters:
  ///   - type: The type of error that is dealt with here.
  ///   - queue: Where the handler runs; nil means on a global queue.
  ///   - handler: Makes the value from the error. Throwing fails the new promise.
  /// - Returns: A promise of the value of this one or, after such a failure, of the handler.
  public func recover<Failure: Error>(
    from type: Failure.Type, on queue: DispatchQueue? = nil,
    _ handler: @escaping @Sendable (Failure) throws -> Value
  ) -> Promise {
    recover(on: queue) { error in
      guard let failure = error as? Failure else { throw error }
      return try handler(failure)
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
  ///   - queue: Where the handler runs; nil means on a global queue.
  ///   - handler: Begins something else. Throwing fails the new promise.
  /// - Returns: A promise of the value of this one or, after such a failure, of the handler's
  ///   promise.
  @_disfavoredOverload  // or a handler that only throws would be ambiguous
  public func recover<Failure: Error>(
    from type: Failure.Type, on queue: DispatchQueue? = nil,
    _ handler: @escaping @Sendable (Failure) throws -> Promise<Value>
  ) -> Promise {
    recover(on: queue) { error in
      guard let failure = error as? Failure else { throw error }
      return try handler(failure)
    }
  }

  /// Ends a chain by dealing with its failure.
  ///
  /// ```swift
  /// fetch("missing")
  /// .then { text in show(text) }
  /// .catch { error in show(error) }
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where the handler runs; nil means on a global queue.
  ///   - handler: Is given the error. Throwing fails the new promise.
  /// - Returns: A promise that is fulfilled when there was nothing to deal with, or it was.
  @discardableResult
  public func `catch`(
    on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (any Error) throws -> Void
  ) -> Promise<Void> {
    link(.ending, on: queue) { outcome in
      if case .failure(let error) = outcome { try handler(error) }
      return .value(())
    }
  }

  // MARK: The mechanism

  /// Makes a promise of what a handler makes of this one's outcome.
  @inlinable
  func link<Output: Sendable>(
    _ kind: LinkKind, on queue: DispatchQueue?, _ handler: consuming @escaping LinkHandler
  ) -> Promise<Output> {
    Promise<Output>(erased.link(kind, on: queue, handler))
  }

  /// Makes a promise of what an asynchronous handler, in some isolation, makes of this one's outcome.
  func link<Output: Sendable>(
    _ kind: LinkKind, in isolation: (any Actor)?, _ handler: @escaping TaskLink.Handler
  ) -> Promise<Output> {
    Promise<Output>(erased.link(kind, isOnMainQueue: MainQueue.is(isolation), handler))
  }
}
