import Dispatch

/// Removes the isolation from the type of a synchronous function.
///
/// The caller guarantees the isolation.
///
/// Isolation does not change the calling convention of a synchronous function.
/// `MainActor.assumeIsolated` uses the same cast. The cast allows one declaration to accept
/// closures of every isolation, and calls nonisolated closures without a task.
///
/// A cast of structures, here and in `Work`, `HandlerPlace` and `Promise`: the compiler would wrap
/// a function in others, and need the metadata of its type, which only macOS 15 and iOS 18 have.
@inlinable
func unisolated<Input, Result>(
  _ function: @escaping @isolated(any) @Sendable (Input) throws -> Result
) -> @Sendable (Input) throws -> Result {
  unsafeBitCast(Isolated(call: function), to: Unisolated<Input, Result>.self).call
}

@usableFromInline
struct Isolated<Input, Result> {
  @usableFromInline let call: @isolated(any) @Sendable (Input) throws -> Result

  @usableFromInline
  init(call: @escaping @isolated(any) @Sendable (Input) throws -> Result) { self.call = call }
}

@usableFromInline
struct Unisolated<Input, Result> {
  @usableFromInline let call: @Sendable (Input) throws -> Result
}

/// The executor of a synchronous handler.
enum HandlerPlace {
  /// A dispatch queue; nil selects the calling thread.
  case queue(DispatchQueue?)
  /// An actor other than the main actor.
  case actor(any Actor)

  /// - Parameters:
  ///   - queue: The queue that the user requested.
  ///   - isolation: The isolation of the closure. It takes precedence over the queue: the closure
  ///     is safe only there.
  init(_ queue: DispatchQueue? = nil, isolation: (any Actor)?) {
    if let isolation {
      // The main actor maps to the main queue, which keeps its handlers in order with those for
      // `.main`.
      self = MainQueue.is(isolation) ? .queue(.main) : .actor(isolation)
    } else {
      self = .queue(queue)
    }
  }

  /// Calls `body` on this executor, or immediately if any thread is allowed.
  func call(_ body: @escaping @Sendable () -> Void) {
    switch self {
    case .queue(nil): body()
    case .queue(let queue?): queue.async(execute: body)
    case .actor(let actor): Task.startingHere { await perform(on: actor, body) }
    }
  }

  /// Calls `body` on the actor: immediately on the main actor's own thread.
  static func call(on isolation: (any Actor)?, _ body: @escaping @Sendable () -> Void) {
    if MainQueue.is(isolation), MainQueue.isCurrent { return body() }
    HandlerPlace(isolation: isolation).call(body)
  }

  /// A function that calls the handler on its actor or, without one, immediately.
  static func onActor(
    of handler: @escaping @isolated(any) @Sendable () -> Void
  ) -> @Sendable () -> Void {
    let call = unsafeBitCast(IsolatedAction(call: handler), to: Action.self).call
    guard let isolation = handler.isolation else { return call }
    return { HandlerPlace.call(on: isolation, call) }
  }

  private struct Action {
    let call: @Sendable () -> Void
  }

  private struct IsolatedAction {
    let call: @isolated(any) @Sendable () -> Void
  }
}

/// Calls a nonisolated function on the actor.
func perform<Result: Sendable>(
  on actor: isolated any Actor, _ function: @Sendable () throws -> Result
) rethrows -> Result {
  try function()
}

extension Task where Success == Never, Failure == Never {
  /// Whether the calling code runs in a task.
  ///
  /// Half the instructions of `withUnsafeCurrentTask`. A comparison with nil would copy the value.
  static var isCurrent: Bool { if case .some = basePriority { true } else { false } }
}

/// Suspends the task until a continuation is resumed, and stays on the caller's executor: the
/// closure of `withTaskCancellationHandler` would leave it, and return to it, which takes two
/// threads.
///
/// - Parameters:
///   - isolation: The caller's.
///   - body: Receives the continuation.
///   - onCancel: Called if the task is canceled, also before `body`.
/// - Returns: What the continuation was resumed with.
func suspended<Result>(
  isolation: isolated (any Actor)? = #isolation,
  _ body: (UnsafeContinuation<Result, Never>) -> Void, onCancel: @Sendable () -> Void
) async -> Result {
  await withTaskCancellationHandler {
    // Captured, so that this closure has its isolation.
    _ = isolation
    return await withUnsafeContinuation { body($0) }
  } onCancel: {
    onCancel()
  }
}

/// Whether the calling code belongs to no actor.
///
/// A function: the compiler of Swift 6.3 does not survive `#isolation == nil` in a function that
/// inherits its isolation.
func isNonisolated(isolation: isolated (any Actor)? = #isolation) -> Bool { isolation == nil }
