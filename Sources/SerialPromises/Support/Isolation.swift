import Dispatch

/// A synchronous function without its isolation, to be called where that already holds.
///
/// An isolation is no part of how a synchronous function is called: `MainActor.assumeIsolated` makes
/// the same cast. There is no other way to keep one declaration for closures of every isolation and to
/// call those that have none without a task.
@inlinable
func unisolated<Input, Result>(
  _ function: @escaping @isolated(any) @Sendable (Input) throws -> Result
) -> @Sendable (Input) throws -> Result {
  unsafeBitCast(function, to: (@Sendable (Input) throws -> Result).self)
}

@inlinable
func unisolated<Input>(
  _ function: @escaping @isolated(any) @Sendable (Input) -> Void
) -> @Sendable (Input) -> Void {
  unsafeBitCast(function, to: (@Sendable (Input) -> Void).self)
}

@inlinable
func unisolated<Result>(
  _ function: @escaping @isolated(any) @Sendable () throws -> Result
) -> @Sendable () throws -> Result {
  unsafeBitCast(function, to: (@Sendable () throws -> Result).self)
}

/// Where a synchronous handler is called.
enum HandlerPlace {
  /// On this queue; nil means on a global one.
  case queue(DispatchQueue?)
  /// On an actor that is not the main actor.
  case actor(any Actor)

  /// - Parameters:
  ///   - queue: Where the user wants it.
  ///   - isolation: What its closure is isolated to, which outweighs the queue: it is safe there only.
  init(_ queue: DispatchQueue?, isolation: (any Actor)?) {
    if let isolation {
      // As a queue, or handlers of the main actor would lose their order among those for `.main`.
      self = MainQueue.is(isolation) ? .queue(.main) : .actor(isolation)
    } else {
      self = .queue(queue)
    }
  }

  /// The queue that a blocked thread of which would never run what is called here.
  var queue: DispatchQueue? {
    if case .queue(let queue) = self { queue } else { nil }
  }

  /// Calls something here, or now if any thread will do.
  func call(_ body: @escaping @Sendable () -> Void) {
    switch self {
    case .queue(nil): body()
    case .queue(let queue?): queue.async(execute: body)
    case .actor(let actor): Task.startingHere { await perform(on: actor, body) }
    }
  }
}

/// Calls a function without isolation on the actor.
func perform<Result: Sendable>(
  on actor: isolated any Actor, _ function: @Sendable () throws -> Result
) rethrows -> Result {
  try function()
}
