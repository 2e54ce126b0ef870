// Unavailable overloads whose messages name the correct API. The compiler considers them only if no
// other overload matches, so they have no cost elsewhere.

extension Promise {
  /// Refers to `map` if the handler of `then` returns a value.
  @available(
    *, unavailable, message: "the handler of 'then' returns a promise; for a value, use 'map'"
  )
  @_disfavoredOverload
  public func then<Output: Sendable>(
    @_inheritActorContext
    _ handler: @escaping @isolated(any) @Sendable (Value) async throws -> Output
  ) -> Promise<Output> {
    map(handler)
  }

  /// Refers to the operators with asynchronous handlers if the handler of `catch` is asynchronous.
  @available(
    *, unavailable,
    message: "the handler of 'catch' is synchronous; await in 'recover' or 'finally', before it"
  )
  @_disfavoredOverload
  public func `catch`(
    @_inheritActorContext
    _ handler: @escaping @isolated(any) @Sendable (any Error) async throws -> Void
  ) -> Promise<Void> {
    map { _ in }
  }
}

extension PromiseManager {
  /// Refers to `then`, `enqueue` and `run` if the closure takes no `then`.
  @available(
    *, unavailable,
    message: """
      the closure of a step receives 'then', and calls it when the step is done: \
      'add { then in …; then() }'; for asynchronous work, use 'enqueue' or 'run'
      """
  )
  @_disfavoredOverload
  @discardableResult
  public func add(
    _ name: String? = nil, at place: StepPlace = .last,
    @_inheritActorContext _ work: @escaping @isolated(any) @Sendable () async throws -> Void
  ) -> StepHandle {
    add { then in then() }
  }

  /// Refers to `enqueue` and `run` if the closure is asynchronous, or throws.
  @available(
    *, unavailable,
    message: """
      the closure of a step is synchronous, and passes an error to 'then'; for asynchronous work, use \
      'enqueue' or 'run', without 'then'
      """
  )
  @_disfavoredOverload
  @discardableResult
  public func add(
    _ name: String? = nil, at place: StepPlace = .last,
    @_inheritActorContext _ work:
      @escaping @isolated(any) @Sendable (_ then: Then) async throws -> Void
  ) -> StepHandle {
    add { then in then() }
  }

  /// Refers to a closure that calls `then` if a function takes a closure.
  @available(
    *, unavailable,
    message: """
      'then' is not a closure, and is called in one: 'download { then() }', \
      'upload(file) { error in then(error) }'; or pass 'then.callAsFunction', which takes an error
      """
  )
  @_disfavoredOverload
  @discardableResult
  public func add<each Argument>(
    _ name: String? = nil, at place: StepPlace = .last,
    @_inheritActorContext _ work:
      @escaping @isolated(any) @Sendable (
        _ then: @escaping @Sendable (repeat each Argument) -> Void
      ) -> Void
  ) -> StepHandle {
    add { then in then() }
  }

  /// Refers to `then` and promises if the closure takes no `then`.
  @available(
    *, unavailable,
    message: """
      the closure of a step receives 'then', and calls it when the step is done: \
      'addWhenRoom { then in …; then() }'; for asynchronous work, add a promise: \
      'addWhenRoom(Promise { … })'
      """
  )
  @_disfavoredOverload
  @discardableResult
  public func addWhenRoom(
    _ name: String? = nil,
    @_inheritActorContext _ work: @escaping @isolated(any) @Sendable () async throws -> Void
  ) async throws -> StepHandle {
    try await addWhenRoom { then in then() }
  }
}

extension PromiseManager {
  /// Refers to `waitingAtMost`.
  @available(
    *, unavailable,
    message: """
      a limit on waiting for the turn is 'waitingAtMost:'; a turn that has begun ends only with its code
      """
  )
  @_disfavoredOverload
  nonisolated(nonsending) public func withTurn<Value>(
    _ name: String? = nil, at place: StepPlace = .last, timeout: Duration,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    try await withTurn(name, body)
  }

  /// Refers to `waitingAtMost` and time limits.
  @available(
    *, unavailable,
    message: """
      a limit on waiting for the turn is 'waitingAtMost:'; for one on the work, add a promise: \
      'Promise { … }.timeout(…)'
      """
  )
  @_disfavoredOverload
  nonisolated(nonsending) public func run<Value: Sendable>(
    _ name: String? = nil, at place: StepPlace = .last, timeout: Duration,
    @_inheritActorContext
    _ operation: @escaping @isolated(any) @Sendable () async throws -> Value
  ) async throws -> Value {
    try await run(name, operation)
  }

  /// Refers to `withTurn`.
  @available(*, unavailable, renamed: "withTurn(_:at:waitingAtMost:_:)")
  nonisolated(nonsending) public func withLock<Value>(
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    try await withTurn(body)
  }

  /// Refers to `timeout` of a step.
  @available(
    *, unavailable,
    message: """
      a time limit is part of a step: 'add(Step("x") { then in … }.timeout(…))'; or of the manager: \
      'PromiseManager(timeLimit: …)'
      """
  )
  @_disfavoredOverload
  @discardableResult
  public func add(
    _ name: String? = nil, at place: StepPlace = .last, timeout: Duration,
    @_inheritActorContext _ handler: @escaping @isolated(any) @Sendable (_ then: Then) -> Void
  ) -> StepHandle {
    add(name, at: place, handler)
  }
}

extension Step {
  /// Refers to `then` and promises if the closure takes no `then`.
  @available(
    *, unavailable,
    message: """
      the closure of a step receives 'then', and calls it when the step is done: \
      'Step { then in …; then() }'; for asynchronous work, make a promise: 'Promise { … }'
      """
  )
  @_disfavoredOverload
  public init(
    _ name: String? = nil,
    @_inheritActorContext _ work: @escaping @isolated(any) @Sendable () async throws -> Void
  ) {
    self.init(name) { then in then() }
  }
}
