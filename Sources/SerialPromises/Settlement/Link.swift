import Dispatch

/// What a handler made of an outcome.
enum Decision<Value: Sendable>: Sendable {
  case value(Value)
  /// The outcome of this promise.
  case promise(Promise<Value>)
}

/// What a link of a chain counts in its progress.
enum LinkKind {
  /// One more part of the work.
  case step
  /// No work of its own.
  case passage
  /// As much work as everything before.
  case half
}

/// Makes a new promise from the outcome of another.
class Link<Input: Sendable, Output: Sendable>: Reaction, @unchecked Sendable {
  // Sendable as its superclass is: it adds constants only.
  let result: Core<Output>
  let kind: LinkKind

  init(_ result: Core<Output>, _ kind: LinkKind) {
    self.result = result
    self.kind = kind
  }

  // With a queue too: sent there by two threads, handlers would get there in any order.
  override var isImmediate: Bool { false }
  override var target: AnyCore? { result }

  override var share: ProgressShare {
    switch kind {
    // The source's depth of the target's.
    case .step: ProgressShare(fraction: Double(result.depth - 1) / Double(result.depth))
    case .passage: ProgressShare()
    case .half: ProgressShare(fraction: 0.5)
    }
  }

  override func progressed(_ fraction: Double, _ front: inout ProgressFront) {
    front.append(result, share.of(fraction))
  }

  /// How far the result is when the source, which is settled, has done its share.
  func progress(after source: Core<Input>, _ outcome: Result<Input, any Error>) -> Double {
    share.of(outcome.isSuccess ? 1 : source.progress)
  }

  /// Settles the result as the handler says.
  func settle(
    after source: Core<Input>, _ outcome: Result<Input, any Error>, _ agenda: inout Agenda,
    _ handler: () throws -> Decision<Output>
  ) {
    do {
      switch try handler() {
      case .value(let value):
        result.settle(.success(value), by: .adopted, &agenda)
      case .promise(let promise):
        let done = progress(after: source, outcome)
        result.adopt(promise, share: share.rest(from: done), &agenda)
      }
    } catch {
      let reached = progress(after: source, outcome)
      result.settle(.failure(error), by: .adopted, reached: reached, &agenda)
    }
  }
}

/// A link with a synchronous handler.
final class HandlerLink<Input: Sendable, Output: Sendable>: Link<Input, Output>,
  @unchecked Sendable
{
  // Sendable as its superclass is: it adds constants only.
  typealias Handler = @Sendable (Result<Input, any Error>) throws -> Decision<Output>

  private let queue: DispatchQueue?
  private let handler: Handler

  init(
    _ result: Core<Output>, _ kind: LinkKind, on queue: DispatchQueue?,
    _ handler: @escaping Handler
  ) {
    self.queue = queue
    self.handler = handler
    super.init(result, kind)
  }

  override func react(to source: AnyCore, _ agenda: inout Agenda) {
    // The same type, because `Promise.link` takes no other.
    let source = unsafeDowncast(source, to: Core<Input>.self)
    guard let outcome = source.result else { return }
    guard let queue else {
      return settle(after: source, outcome, &agenda) { try handler(outcome) }
    }
    queue.async {
      Turn.onQueue.with(self) {
        var agenda = Agenda()
        self.settle(after: source, outcome, &agenda) { try self.handler(outcome) }
        agenda.run()
      }
    }
  }

  override var recipe: (@Sendable (AnyPromise) -> AnyPromise)? {
    { [kind, queue, handler] source in
      Promise<Input>(source).link(kind, on: queue, handler).erased
    }
  }

  override var blockedQueue: DispatchQueue? { queue }
}

/// A link with an asynchronous handler, which runs in a task of its own.
final class TaskLink<Input: Sendable, Output: Sendable>: Link<Input, Output>,
  @unchecked Sendable
{
  // Sendable as its superclass is: it adds constants only.
  typealias Handler = @Sendable (Result<Input, any Error>) async throws -> Decision<Output>

  private let handler: Handler

  init(_ result: Core<Output>, _ kind: LinkKind, _ handler: @escaping Handler) {
    self.handler = handler
    super.init(result, kind)
  }

  override func react(to source: AnyCore, _ agenda: inout Agenda) {
    // The same type, because `Promise.link` takes no other.
    let source = unsafeDowncast(source, to: Core<Input>.self)
    guard let outcome = source.result else { return }
    let task = Task.startingHere {
      let decision: Result<Decision<Output>, any Error>
      do { decision = .success(try await self.handler(outcome)) } catch {
        decision = .failure(error)
      }
      var agenda = Agenda()
      self.settle(after: source, outcome, &agenda) { try decision.get() }
      agenda.run()
    }
    result.onCancel { task.cancel() }
  }

  override var recipe: (@Sendable (AnyPromise) -> AnyPromise)? {
    { [kind, handler] source in Promise<Input>(source).link(kind, handler).erased }
  }
}

extension Task where Failure == Never, Success == Void {
  /// Starts a task on the calling thread if the system can: so tasks begin in the order of calling.
  static func startingHere(_ operation: @escaping @Sendable () async -> Void) -> Self {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      return Task.immediate(operation: operation)
    }
    return Task(operation: operation)
  }
}

/// Calls back with an outcome, without making a new promise.
final class Callback<Value: Sendable>: Reaction, @unchecked Sendable {
  // Sendable as its superclass is: it adds constants only.
  typealias Handler = @Sendable (Result<Value, any Error>) -> Void

  private let queue: DispatchQueue?
  private let seesFailures: Bool
  private let handler: Handler

  init(on queue: DispatchQueue?, seesFailures: Bool, _ handler: @escaping Handler) {
    self.queue = queue
    self.seesFailures = seesFailures
    self.handler = handler
  }

  // With a queue too: sent there by two threads, handlers would get there in any order.
  override var isImmediate: Bool { false }
  override var looksAtFailures: Bool { seesFailures }

  override func react(to source: AnyCore, _ agenda: inout Agenda) {
    // The same type, because `Promise.call` takes no other.
    guard let outcome = unsafeDowncast(source, to: Core<Value>.self).result else { return }
    guard let queue else { return handler(outcome) }
    queue.async { [handler] in handler(outcome) }
  }

  override var blockedQueue: DispatchQueue? { queue }
}
