import Dispatch

/// What a link of a chain counts in its progress.
enum LinkKind: UInt8 {
  /// One more part of the work.
  case step
  /// No work of its own.
  case passage
  /// As much work as everything before.
  case half
}

/// Makes a new promise from the outcome of another.
class Link: Reaction, @unchecked Sendable {
  // Sendable as its superclass is: it adds a constant only.
  let result: Core

  init(_ result: Core) {
    self.result = result
  }

  // With a queue too: sent there by two threads, handlers would get there in any order.
  override var isImmediate: Bool { false }
  override var target: Core? { result }

  override var share: ProgressShare {
    switch result.kind {
    // The source's depth of the target's.
    case .step: ProgressShare(fraction: Double(result.depth - 1) / Double(result.depth))
    case .passage: ProgressShare()
    case .half: ProgressShare(fraction: 0.5)
    }
  }

  override func progressed(_ fraction: Double, _ front: inout ProgressFront) {
    front.rise(result, to: share.of(fraction))
  }

  /// Settles the result as the handler says.
  func settle(
    after source: Core, _ outcome: Outcome, _ agenda: inout Agenda,
    _ handler: (Outcome) throws -> Decision
  ) {
    do {
      switch try handler(outcome) {
      case .value(let value):
        _ = result.fulfil(value, by: .adopted, &agenda)
      case .promise(let promise):
        let done = progress(after: source, outcome)
        result.adopt(promise, share: share.rest(from: done), &agenda)
      }
    } catch {
      let reached = progress(after: source, outcome)
      _ = result.fail(error, by: .adopted, reached: reached, &agenda)
    }
  }

  /// How far the result is when the source, which is settled, has done its share.
  private func progress(after source: Core, _ outcome: Outcome) -> Double {
    if case .failure = outcome { share.of(source.progress) } else { share.of(1) }
  }
}

/// A link with a synchronous handler.
class HandlerLink: Link, @unchecked Sendable {
  // Sendable as its superclass is: it adds a constant only.
  typealias Handler = @Sendable (Outcome) throws -> Decision

  fileprivate let handler: Handler

  init(_ result: Core, _ handler: @escaping Handler) {
    self.handler = handler
    super.init(result)
  }

  override func react(to source: Core, _ agenda: inout Agenda) {
    guard let outcome = source.settledOutcome else { return }
    settle(after: source, outcome, &agenda, handler)
  }

  override var recipe: (@Sendable (AnyPromise) -> AnyPromise)? {
    { [kind = result.kind, handler] in $0.link(kind, on: nil, handler) }
  }
}

/// A link with a handler that runs on a queue.
final class QueueLink: HandlerLink, @unchecked Sendable {
  // Sendable as its superclass is: it adds a constant only.
  private let queue: DispatchQueue

  init(_ result: Core, on queue: DispatchQueue, _ handler: @escaping Handler) {
    self.queue = queue
    super.init(result, handler)
  }

  override var blockedQueue: DispatchQueue? { queue }

  override func react(to source: Core, _ agenda: inout Agenda) {
    guard let outcome = source.settledOutcome else { return }
    queue.async {
      Turn.onQueue.with(self) {
        var agenda = Agenda()
        self.settle(after: source, outcome, &agenda, self.handler)
        agenda.run()
      }
    }
  }

  override var recipe: (@Sendable (AnyPromise) -> AnyPromise)? {
    { [kind = result.kind, queue, handler] in $0.link(kind, on: queue, handler) }
  }
}

/// A link with an asynchronous handler, which runs in a task of its own.
final class TaskLink: Link, @unchecked Sendable {
  // Sendable as its superclass is: it adds a constant only.
  typealias Handler = @Sendable (Outcome) async throws -> Decision

  private let handler: Handler

  init(_ result: Core, _ handler: @escaping Handler) {
    self.handler = handler
    super.init(result)
  }

  override func react(to source: Core, _ agenda: inout Agenda) {
    guard let outcome = source.settledOutcome else { return }
    let task = Task.startingHere { [self] in
      let decision: Result<Decision, any Error>
      do { decision = .success(try await handler(outcome)) } catch { decision = .failure(error) }
      var agenda = Agenda()
      settle(after: source, outcome, &agenda) { _ in try decision.get() }
      agenda.run()
    }
    result.onCancel { task.cancel() }
  }

  override var recipe: (@Sendable (AnyPromise) -> AnyPromise)? {
    { [kind = result.kind, handler] in $0.link(kind, handler) }
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

extension AnyPromise {
  /// Makes a promise of what a handler makes of this one's outcome.
  func link(
    _ kind: LinkKind, on queue: DispatchQueue?, _ handler: @escaping HandlerLink.Handler
  ) -> AnyPromise {
    let result = makeResult(kind, on: queue)
    if let queue { return attach(QueueLink(result, on: queue, handler)) }
    return attach(HandlerLink(result, handler))
  }

  /// Makes a promise of what an asynchronous handler makes of this one's outcome.
  func link(_ kind: LinkKind, _ handler: @escaping TaskLink.Handler) -> AnyPromise {
    attach(TaskLink(makeResult(kind), handler))
  }

  func makeResult(_ kind: LinkKind, on queue: DispatchQueue? = nil) -> Core {
    Core(
      origin: core.origin, depth: kind == .passage ? core.depth : core.depth + 1, kind: kind,
      isDemanded: lifeline == nil,
      needsMainQueue: core.needsMainQueue || MainQueue.is(queue))
  }

  func attach(_ link: Link) -> AnyPromise {
    link.result.hang(on: Upstream(core, link))
    core.attach(link)
    return AnyPromise(core: link.result, lifeline: lifeline)
  }
}

/// Calls back with an outcome, without making a new promise.
final class Callback: Reaction, @unchecked Sendable {
  // Sendable as its superclass is: it adds constants only.
  typealias Handler = @Sendable (Outcome) -> Void

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
  override var blockedQueue: DispatchQueue? { queue }

  override func react(to source: Core, _ agenda: inout Agenda) {
    guard let outcome = source.settledOutcome else { return }
    guard let queue else { return handler(outcome) }
    queue.async { [handler] in handler(outcome) }
  }
}
