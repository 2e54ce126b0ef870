import Dispatch

/// The contribution of a link to the progress of its chain.
@usableFromInline
enum LinkKind: UInt8, Sendable {
  /// A part of the work.
  case step
  /// No work.
  case passage
  /// No work, and runs even if the promise is canceled.
  case cleanup
  /// No work, and needs no dependents: `catch`.
  case ending

  /// Whether the handler has an effect even if its promise has no dependents.
  var standsAlone: Bool { self == .cleanup || self == .ending }
}

/// A promise that is derived from the outcome of another.
class Link: Core, @unchecked Sendable {
  // Sendable as its superclass; each subclass documents its mutable state.

  // Also with a queue: if two threads enqueued handlers, their order would be undefined.
  override var isImmediate: Bool { false }
  override var target: Core? { self }

  /// Whether the handler must wait for its turn in a manager although the source is settled.
  final func waitsForTurn(_ source: Core) -> Bool {
    hasSteps && withLock { $0.park(at: source) }
  }

  override var share: ProgressShare {
    // The depth of the source relative to the target's.
    kind == .step ? ProgressShare(fraction: Double(depth - 1) / Double(depth)) : ProgressShare()
  }

  override func progressed(_ fraction: Double, _ front: inout ProgressFront) {
    front.rise(self, to: share.of(fraction))
  }

  /// Settles this promise with the result of the handler.
  final func settle(
    after source: Core, _ outcome: Outcome, _ agenda: inout Agenda,
    _ handler: (Outcome) throws -> Decision
  ) {
    do {
      switch try hasSteps ? callMarked(handler, outcome) : handler(outcome) {
      case .value(let value):
        var effects = Settlement.Effects()
        if store(value, by: .adopted, &effects) { carryOut(effects, &agenda) }
      case .promise(let promise):
        let done = progress(after: source, outcome)
        if !adopt(promise, share: share.rest(from: done), &agenda) {
          // This promise was canceled while the handler created the other one, so nothing else
          // would cancel it.
          promise.core.abandon(cancelling: true, for: withLock { $0.scopes })
          endProducing()
        }
      }
    } catch {
      settle(.failure(error), by: .adopted, reached: progress(after: source, outcome), &agenda)
    }
  }

  // Separate function, because the closure needs stack that most links do not.
  @inline(never)
  private func callMarked(
    _ handler: (Outcome) throws -> Decision, _ outcome: Outcome
  ) throws -> Decision {
    guard let step = currentStep else { return try handler(outcome) }
    return try RunningStep.local.withValue(step) { try handler(outcome) }
  }

  /// Ends the work of a link whose handler, which has been taken, is not going to settle this promise.
  ///
  /// A retained promise that was canceled must not retain the captured values of its handler.
  fileprivate final func discard<Handler: Sendable>(
    _ handler: Handler?, on queue: DispatchQueue?,
    _ cleanUp: @escaping @Sendable (Handler, Outcome, [WorkScope]) -> Void
  ) {
    defer { endProducing() }
    guard let handler, kind == .cleanup else { return }
    // Notified like the dependents of this promise, which is about to fail. Cleanup is part of the
    // work.
    let scopes = withLock { $0.scopes }
    attach(
      Callback(on: .queue(queue), seesFailures: false) { cleanUp(handler, $0, scopes) })
  }

  /// The progress of this promise when its source is settled.
  private func progress(after source: Core, _ outcome: Outcome) -> Double {
    if case .failure = outcome { share.of(source.progress) } else { share.of(1) }
  }
}

/// Transforms an outcome into the result of a link.
@usableFromInline
typealias LinkHandler = @Sendable (Outcome) throws -> Decision

/// A link with a synchronous handler.
class HandlerLink: Link, @unchecked Sendable {
  // Sendable as its superclass: the handler is taken by the thread that runs it, after the link was
  // removed from the source's list. Other threads read it only while the link is listed.
  fileprivate var handler: LinkHandler?

  private let queue: DispatchQueue?

  init(_ traits: Traits, on queue: DispatchQueue? = nil, _ handler: @escaping LinkHandler) {
    self.queue = queue
    self.handler = handler
    super.init(traits, isDemanded: false, hasProducer: true)
  }

  override func react(to source: Core, _ agenda: inout Agenda) {
    // Taken, so that the promise does not retain the captured values of its handler.
    guard !waitsForTurn(source), let handler = handler.take() else { return }
    let outcome = source.settledOutcome
    guard let queue else { return settle(after: source, outcome, &agenda, handler) }
    queue.async {
      Trampoline.onQueue.with(self) {
        Agenda.run { self.settle(after: source, outcome, &$0, handler) }
      }
    }
  }

  override func discard() {
    discard(handler.take(), on: queue) { handler, outcome, scopes in
      withExtendedLifetime(scopes) { _ = try? handler(outcome) }
    }
  }

  override var recipe: Restart.Make? {
    guard let handler else { return nil }
    return { [kind, queue] in $0[0].link(kind, on: queue, handler) }
  }
}

/// A link that restarts its source when it fails.
final class RetryLink: HandlerLink, @unchecked Sendable {
  // Sendable as its superclass; `again` is set before another thread has a reference, and accessed like
  // the handler.

  /// Retries another promise alike; nil after the handler has run.
  var again: Restart.Make?

  override func react(to source: Core, _ agenda: inout Agenda) {
    super.react(to: source, &agenda)
    if handler == nil { again = nil }
  }

  override func discard() {
    super.discard()
    again = nil
  }

  override var recipe: Restart.Make? { again }
}

/// A link with an asynchronous handler, which runs in its own task.
final class TaskLink: Link, CancellableWork, @unchecked Sendable {
  // Sendable as its superclass: for the handler see `HandlerLink`; the task is accessed under this
  // promise's lock.
  typealias Handler = @Sendable (Outcome) async throws -> Decision

  private var handler: Handler?
  private var task = CancellableTask()

  init(_ traits: Traits, _ handler: @escaping Handler) {
    self.handler = handler
    super.init(traits, isDemanded: false, hasProducer: true)
  }

  override func react(to source: Core, _ agenda: inout Agenda) {
    guard !waitsForTurn(source), let handler = handler.take() else { return }
    let outcome = source.settledOutcome
    Task.startingHere { [self] in
      await work {
        // Marks only the handler. Code that runs in this task afterwards is not part of its step.
        do {
          guard let step = currentStep else { return .success(try await handler(outcome)) }
          return .success(
            try await RunningStep.local.withValue(step) { try await handler(outcome) })
        } catch {
          return .failure(error)
        }
      } then: { (decision: Result<Decision, any Error>) in
        Agenda.run { settle(after: source, outcome, &$0) { _ in try decision.get() } }
      }
    }
  }

  func withTask<Result>(_ body: (inout CancellableTask) -> Result) -> Result {
    withLock { _ in body(&task) }
  }

  override func stopWork() { cancelTask() }

  override func discard() {
    discard(handler.take(), on: nil) { handler, outcome, scopes in
      Task.startingHere {
        _ = try? await handler(outcome)
        withExtendedLifetime(scopes) {}
      }
    }
  }

  override var recipe: Restart.Make? {
    guard let handler else { return nil }
    return { [kind, runsOnMainQueue] in $0[0].link(kind, isOnMainQueue: runsOnMainQueue, handler) }
  }
}

extension AnyPromise {
  /// Derives a promise with a synchronous handler.
  @usableFromInline
  func link(
    _ kind: LinkKind, on queue: DispatchQueue?, _ handler: consuming @escaping LinkHandler
  ) -> AnyPromise {
    guard let queue else { return attach(HandlerLink(traits(kind), handler)) }
    return attach(HandlerLink(traits(kind, isOnMainQueue: MainQueue.is(queue)), on: queue, handler))
  }

  /// Derives a promise with a handler that runs on an actor.
  @usableFromInline
  func link(
    _ kind: LinkKind, isolatedTo isolation: any Actor, _ handler: @escaping LinkHandler
  ) -> AnyPromise {
    switch HandlerPlace(isolation: isolation) {
    case .queue(let queue): link(kind, on: queue, handler)
    case .actor(let actor):
      link(kind, isOnMainQueue: false) { outcome in
        try await perform(on: actor) { try handler(outcome) }
      }
    }
  }

  /// Derives a promise with an asynchronous handler.
  func link(
    _ kind: LinkKind, isOnMainQueue: Bool, _ handler: @escaping TaskLink.Handler
  ) -> AnyPromise {
    attach(TaskLink(traits(kind, isOnMainQueue: isOnMainQueue), handler))
  }

  /// The constants of a promise that is derived from this one.
  func traits(_ kind: LinkKind, isOnMainQueue: Bool = false) -> Core.Traits {
    Core.Traits(
      origin: core.origin, depth: kind == .step ? core.depth + 1 : core.depth, kind: kind,
      runsOnMainQueue: isOnMainQueue)
  }

  func attach(_ link: Link) -> AnyPromise {
    link.depend(on: .linked(core))
    core.attach(link: link)
    return AnyPromise(core: link, lifeline: lifeline)
  }
}

/// A callback for an outcome.
///
/// Creates no promise.
final class Callback: Reaction {
  typealias Handler = @Sendable (Outcome) -> Void

  private let place: HandlerPlace
  private let seesFailures: Bool
  private let handler: Handler

  init(on place: HandlerPlace, seesFailures: Bool, _ handler: @escaping Handler) {
    self.place = place
    self.seesFailures = seesFailures
    self.handler = handler
  }

  // Also with a queue: if two threads enqueued handlers, their order would be undefined.
  override var isImmediate: Bool { false }
  override var isCallback: Bool { true }
  override var handlesFailures: Bool { seesFailures }
  override var passesProgress: Bool { false }

  override func react(to source: Core, _ agenda: inout Agenda) {
    let outcome = source.settledOutcome
    place.call { [handler] in handler(outcome) }
  }
}
