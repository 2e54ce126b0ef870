import Dispatch

// What cannot be called: declared so that the compiler's message names what to write instead. The compiler
// tries these only where nothing else fits, so they cost nothing elsewhere.

extension Promise {
  /// Names `map` to callers that return a value from `then`.
  @available(
    *, unavailable, message: "the handler of 'then' returns a promise; for a value, use 'map'"
  )
  @_disfavoredOverload
  public func then<Output: Sendable>(
    on queue: DispatchQueue? = nil,
    _ handler: @escaping @isolated(any) @Sendable (Value) async throws -> Output
  ) -> Promise<Output> {
    map(handler)
  }

  /// Names the words whose handler may be asynchronous to callers that await in `catch`.
  @available(
    *, unavailable,
    message: "the handler of 'catch' is synchronous; await in 'recover' or 'finally', before it"
  )
  @_disfavoredOverload
  public func `catch`(
    _ handler: @escaping @isolated(any) @Sendable (any Error) async throws -> Void
  ) -> Promise<Void> {
    map { _ in }
  }
}

extension PromiseManager {
  /// Names `then`, `enqueue` and `run` to callers whose closure takes no `then`.
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
    _ work: @escaping @Sendable () async throws -> Void
  ) -> StepHandle {
    add { then in then() }
  }

  /// Names `then`, and promises, to callers whose closure takes no `then`.
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
    _ name: String? = nil, _ work: @escaping @Sendable () async throws -> Void
  ) async throws -> StepHandle {
    try await addWhenRoom { then in then() }
  }
}

extension Step {
  /// Names `then`, and promises, to callers whose closure takes no `then`.
  @available(
    *, unavailable,
    message: """
      the closure of a step receives 'then', and calls it when the step is done: \
      'Step { then in …; then() }'; for asynchronous work, make a promise: 'Promise { … }'
      """
  )
  @_disfavoredOverload
  public init(_ name: String? = nil, _ work: @escaping @Sendable () async throws -> Void) {
    self.init(name) { then in then() }
  }
}
