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
  /// No work, and may be settled before its source: `timeout`.
  case limit

  /// Whether the handler has an effect even if its promise has no dependents.
  var standsAlone: Bool { self == .cleanup || self == .ending }
}

/// Transforms an outcome into the result of a link.
@usableFromInline
typealias LinkHandler = @Sendable (Outcome) throws -> Decision

/// As `LinkHandler`, in a task of its own.
typealias AsyncLinkHandler = @Sendable (Outcome) async throws -> Decision

/// A promise that a handler derives from the outcome of another.
final class Link: Core, @unchecked Sendable {
  // Sendable as its superclass: the handler is taken by the thread that runs it, after the link was
  // removed from the source's list. Other threads read it only while the link is listed.

  enum Handler {
    case sync(LinkHandler, on: DispatchQueue?)
    case async(AsyncLinkHandler)
    /// Restarts the source when it fails. `again` retries another promise alike.
    ///
    /// Indirect, or every link would be larger by 16 bytes.
    indirect case retry(LinkHandler, again: Restart.Make)
  }

  private var handler: Handler?

  init(_ traits: Traits, _ handler: consuming Handler) {
    self.handler = handler
    super.init(traits, isDemanded: false, hasProducer: true)
  }

  // Also with a queue: if two threads enqueued handlers, their order would be undefined.
  override var isImmediate: Bool { false }
  override var target: Core? { self }

  override func react(to source: Core, _ agenda: inout Agenda) {
    // Waits for its turn in a manager, although the source is settled.
    if hasSteps, withLock({ $0.park(at: source) }) { return }
    // Taken, so that the promise does not retain the captured values of its handler.
    guard let handler = handler.take() else { return }
    let outcome = source.settledOutcome
    switch consume handler {
    case .sync(let handler, on: nil), .retry(let handler, again: _):
      settle(after: source, outcome, &agenda, handler)
    case .sync(let handler, on: let queue?):
      queue.async {
        Trampoline.onQueue.with(self) {
          Agenda.run { self.settle(after: source, outcome, &$0, handler) }
        }
      }
    case .async(let handler): start(handler, after: source, outcome)
    }
  }

  /// Runs an asynchronous handler.
  private func start(_ handler: @escaping AsyncLinkHandler, after source: Core, _ outcome: Outcome)
  {
    let work = PromiseWork(of: self, shareOfSource.rest(from: progress(after: source, outcome)))
    onCancel { work.cancelTask() }
    // A task without a creator has the default priority.
    let priority = max(withLock { $0.work(in: work) }, TaskPriority.medium.rawValue)
    Task.startingHere(TaskPriority(rawValue: priority)) { [self] in
      await work.work {
        // Marks only the handler. Code that runs in this task afterwards is not part of its step.
        do {
          let step = currentStep
          // Cleanup contributes nothing.
          let mark = kind == .cleanup ? RunningStep.Mark(step) : RunningStep.Mark(step, work)
          return .success(
            try await RunningStep.local.withValue(mark) { try await handler(outcome) })
        } catch {
          return .failure(error)
        }
      } then: { (decision: Result<Decision, any Error>) in
        work.end()
        Agenda.run { settle(after: source, outcome, &$0) { _ in try decision.get() } }
      }
    }
  }

  /// Settles this promise with the result of the handler.
  private func settle(
    after source: Core, _ outcome: Outcome, _ agenda: inout Agenda,
    _ handler: (Outcome) throws -> Decision
  ) {
    do {
      switch try hasSteps ? callMarked(handler, outcome) : handler(outcome) {
      case .value(let value):
        var effects = Settlement.Effects()
        if store(value, by: .adopted, &effects) { carryOut(effects, &agenda) }
      case .promise(let promise):
        // What an asynchronous handler has reported comes before the progress of its promise.
        let done = max(progress, progress(after: source, outcome))
        if !adopt(promise, share: shareOfSource.rest(from: done), &agenda) {
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
    return try RunningStep.local.withValue(RunningStep.Mark(step)) { try handler(outcome) }
  }

  /// The progress of this promise when its source is settled.
  private func progress(after source: Core, _ outcome: Outcome) -> Double {
    let isFailure = if case .failure = outcome { true } else { false }
    return shareOfSource.of(isFailure ? source.progress : 1)
  }

  override func discard() {
    defer { endProducing() }
    // A retained promise that was canceled must not retain the captured values of its handler.
    guard let handler = handler.take(), kind == .cleanup else { return }
    // Notified like the dependents of this promise, which is about to fail. Cleanup is part of the
    // work.
    let scopes = withLock { $0.scopes }
    let queue: DispatchQueue? = if case .sync(_, let queue) = handler { queue } else { nil }
    attach(
      Callback(on: .queue(queue), seesFailures: false) { outcome in
        switch handler {
        case .sync(let handler, _), .retry(let handler, _):
          withExtendedLifetime(scopes) { _ = try? handler(outcome) }
        case .async(let handler):
          Task.startingHere {
            _ = try? await handler(outcome)
            withExtendedLifetime(scopes) {}
          }
        }
      })
  }

  override var recipe: Restart.Make? {
    guard let handler else { return nil }
    if case .retry(_, let again) = handler { return again }
    return { [kind, runsOnMainQueue] in
      $0[0].link(kind, handler, isOnMainQueue: runsOnMainQueue)
    }
  }
}

extension AnyPromise {
  /// Derives a promise with a synchronous handler.
  @usableFromInline
  func link(
    _ kind: LinkKind, on queue: DispatchQueue?, _ handler: consuming @escaping LinkHandler
  ) -> AnyPromise {
    guard let queue else { return link(traits(kind), .sync(handler, on: nil)) }
    return link(kind, .sync(handler, on: queue), isOnMainQueue: MainQueue.is(queue))
  }

  /// Derives a promise with a handler that runs on an actor.
  @usableFromInline
  func link(
    _ kind: LinkKind, isolatedTo isolation: any Actor, _ handler: @escaping LinkHandler
  ) -> AnyPromise {
    switch HandlerPlace(isolation: isolation) {
    case .queue(let queue): link(kind, on: queue, handler)
    case .actor(let actor):
      link(kind, .async { outcome in try await perform(on: actor) { try handler(outcome) } })
    }
  }

  func link(_ kind: LinkKind, _ handler: Link.Handler, isOnMainQueue: Bool = false) -> AnyPromise {
    link(traits(kind, isOnMainQueue: isOnMainQueue), handler)
  }

  func link(_ traits: Core.Traits, _ handler: consuming Link.Handler) -> AnyPromise {
    let link = Link(traits, handler)
    link.depend(on: .linked(core))
    core.attach(link: link)
    return AnyPromise(core: link, lifeline: lifeline)
  }

  /// The constants of a promise that is derived from this one.
  func traits(_ kind: LinkKind, isOnMainQueue: Bool = false) -> Core.Traits {
    Core.Traits(
      origin: core.origin, depth: kind == .step ? core.depth + 1 : core.depth, kind: kind,
      runsOnMainQueue: isOnMainQueue)
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
  override var role: Role { .callback }
  override var handlesFailures: Bool { seesFailures }

  override func react(to source: Core, _ agenda: inout Agenda) {
    let outcome = source.settledOutcome
    place.call { [handler] in handler(outcome) }
  }
}
