import Dispatch

// The words of a chain for `@MainActor` closures: each is the same as with `on: .main`.

extension Promise {
  /// Goes on with the value, on the main actor.
  ///
  /// ```swift
  /// let shown = login().then { @MainActor user in label.text = user.name }
  /// ```
  ///
  /// - Parameter handler: Makes another value of it. Throwing fails the new promise.
  /// - Returns: A promise of what the handler returns.
  public func then<Output: Sendable>(
    _ handler: @escaping @MainActor @Sendable (Value) throws -> Output
  ) -> Promise<Output> {
    then(on: .main) { value in try MainActor.assumeIsolated { try handler(value) } }
  }

  /// Goes on with the value, on the main actor, with further work.
  ///
  /// ```swift
  /// let avatar = login().then { @MainActor user in
  ///   label.text = "avatar of \(user.name)"
  ///   return fetchAvatar(of: user)
  /// }
  /// ```
  ///
  /// - Parameter handler: Begins the work. Throwing fails the new promise.
  /// - Returns: A promise that ends as the one that the handler returns.
  public func then<Output: Sendable>(
    _ handler: @escaping @MainActor @Sendable (Value) throws -> Promise<Output>
  ) -> Promise<Output> {
    then(on: .main) { value in try MainActor.assumeIsolated { try handler(value) } }
  }

  /// Turns the value into another, on the main actor.
  ///
  /// ```swift
  /// let title = login().map { @MainActor user in "\(label.text), \(user.name)" }
  /// ```
  ///
  /// - Parameter transform: Makes the other value. Throwing fails the new promise.
  /// - Returns: A promise of the other value.
  public func map<Output: Sendable>(
    _ transform: @escaping @MainActor @Sendable (Value) throws -> Output
  ) -> Promise<Output> {
    map(on: .main) { value in try MainActor.assumeIsolated { try transform(value) } }
  }

  /// Has a look at the value, on the main actor.
  ///
  /// ```swift
  /// let page = fetch(url).get { @MainActor text in label.text = text }
  /// ```
  ///
  /// - Parameter handler: Is given the value. Throwing fails the new promise.
  /// - Returns: A promise of the same value.
  public func get(_ handler: @escaping @MainActor @Sendable (Value) throws -> Void) -> Promise {
    get(on: .main) { value in try MainActor.assumeIsolated { try handler(value) } }
  }

  /// Has a look at the outcome, on the main actor.
  ///
  /// ```swift
  /// let told = fetch(url).tap { @MainActor outcome in label.text = "\(outcome)" }
  /// ```
  ///
  /// - Parameter handler: Is given the outcome.
  /// - Returns: A promise that ends in the same way.
  public func tap(
    _ handler: @escaping @MainActor @Sendable (Result<Value, any Error>) -> Void
  ) -> Promise {
    tap(on: .main) { outcome in MainActor.assumeIsolated { handler(outcome) } }
  }

  /// Does something on the main actor, however the promise ends.
  ///
  /// If the new promise is cancelled, it is done as well, once; what it throws is then ignored.
  ///
  /// ```swift
  /// fetch(url).finally { @MainActor in label.text = "loaded" }
  /// ```
  ///
  /// - Parameter handler: Cleans up. What it throws takes the place of the outcome.
  /// - Returns: A promise that ends in the same way.
  @discardableResult
  public func finally(_ handler: @escaping @MainActor @Sendable () throws -> Void) -> Promise {
    finally(on: .main) { try MainActor.assumeIsolated { try handler() } }
  }

  /// Puts a value in the place of a failure, on the main actor.
  ///
  /// ```swift
  /// let text = fetch("missing").recover { @MainActor _ in label.text }
  /// ```
  ///
  /// - Parameter handler: Makes the value from the error. Throwing fails the new promise.
  /// - Returns: A promise of the value of this one or, if this fails, of the handler.
  public func recover(
    _ handler: @escaping @MainActor @Sendable (any Error) throws -> Value
  ) -> Promise {
    recover(on: .main) { error in try MainActor.assumeIsolated { try handler(error) } }
  }

  /// Puts another promise in the place of a failure, on the main actor.
  ///
  /// ```swift
  /// let page = fetch(mirror).recover { @MainActor error in
  ///   label.text = "\(error), trying elsewhere"
  ///   return fetch(origin)
  /// }
  /// ```
  ///
  /// - Parameter handler: Begins something else. Throwing fails the new promise.
  /// - Returns: A promise of the value of this one or, if this fails, of the handler's promise.
  @_disfavoredOverload  // or a handler that only throws would be ambiguous
  public func recover(
    _ handler: @escaping @MainActor @Sendable (any Error) throws -> Promise<Value>
  ) -> Promise {
    recover(on: .main) { error in try MainActor.assumeIsolated { try handler(error) } }
  }

  /// Ends a chain by dealing with its failure, on the main actor.
  ///
  /// ```swift
  /// fetch("missing").catch { @MainActor error in label.text = "\(error)" }
  /// ```
  ///
  /// - Parameter handler: Is given the error. Throwing fails the new promise.
  /// - Returns: A promise that is fulfilled when there was nothing to deal with, or it was.
  @discardableResult
  public func `catch`(
    _ handler: @escaping @MainActor @Sendable (any Error) throws -> Void
  ) -> Promise<Void> {
    `catch`(on: .main) { error in try MainActor.assumeIsolated { try handler(error) } }
  }

  /// Calls back with the value, on the main actor.
  ///
  /// ```swift
  /// page.fulfilled { @MainActor text in label.text = text }
  /// ```
  ///
  /// - Parameter handler: Is given the value.
  /// - Returns: The promise itself.
  @discardableResult
  public func fulfilled(_ handler: @escaping @MainActor @Sendable (Value) -> Void) -> Promise {
    fulfilled(on: .main) { value in MainActor.assumeIsolated { handler(value) } }
  }

  /// Calls back with the error, on the main actor.
  ///
  /// ```swift
  /// page.failed { @MainActor error in label.text = "\(error)" }
  /// ```
  ///
  /// - Parameter handler: Is given the error.
  /// - Returns: The promise itself.
  @discardableResult
  public func failed(_ handler: @escaping @MainActor @Sendable (any Error) -> Void) -> Promise {
    failed(on: .main) { error in MainActor.assumeIsolated { handler(error) } }
  }

  /// Calls back with the progress, on the main actor.
  ///
  /// ```swift
  /// page.progressed { @MainActor fraction in bar.text = "\(Int(fraction * 100)) %" }
  /// ```
  ///
  /// - Parameter handler: Is given the progress, above 0 and up to 1.
  /// - Returns: The promise itself.
  @discardableResult
  public func progressed(
    _ handler: @escaping @MainActor @Sendable (Double) -> Void
  ) -> Promise {
    progressed(on: .main) { fraction in MainActor.assumeIsolated { handler(fraction) } }
  }
}
