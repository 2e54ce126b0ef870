import Dispatch
import Synchronization

/// What a link of a chain counts in its progress.
@usableFromInline
enum LinkKind: UInt8, Sendable {
  /// One more part of the work.
  case step
  /// No work of its own.
  case passage
  /// No work of its own, and done even if the promise is cancelled.
  case cleanup
  /// No work of its own, and nothing need follow: `catch`.
  case ending

  fileprivate var countsNothing: Bool { self != .step }

  /// Whether it is of use also where nothing is made from its promise.
  var standsAlone: Bool { self == .cleanup || self == .ending }
}

/// A promise that is made from the outcome of another.
class Link: Core, @unchecked Sendable {
  // Sendable as its superclass is; what its subclasses change is told there.

  /// Whether a manager may have reserved this promise.
  ///
  /// Only then does the link take the lock to check.
  let mayBeReserved = Atomic(false)

  // With a queue too: sent there by two threads, handlers would get there in any order.
  override var isImmediate: Bool { false }
  override var target: Core? { self }

  /// Whether the handler has to wait for the turn of a manager, although the source is settled.
  final func waitsForTurn(_ source: Core) -> Bool {
    guard mayBeReserved.load(ordering: .acquiring) else { return false }
    return withLock { $0.park(at: source) }
  }

  override var share: ProgressShare {
    switch kind {
    // The source's depth of the target's.
    case .step: ProgressShare(fraction: Double(depth - 1) / Double(depth))
    case .passage, .cleanup, .ending: ProgressShare()
    }
  }

  override func progressed(_ fraction: Double, _ front: inout ProgressFront) {
    front.rise(self, to: share.of(fraction))
  }

  /// Settles this promise as the handler says.
  final func settle(
    after source: Core, _ outcome: Outcome, _ agenda: inout Agenda,
    _ handler: (Outcome) throws -> Decision
  ) {
    do {
      switch try hasSteps ? callMarked(handler, outcome) : handler(outcome) {
      case .value(let value):
        _ = fulfill(value, by: .adopted, &agenda)
      case .promise(let promise):
        let done = progress(after: source, outcome)
        if !adopt(promise, share: share.rest(from: done), &agenda) {
          // Canceled while the handler made it: nothing else would ever call that work off. It is
          // joined, and not only called off, because that may be impossible.
          let scopes = withLock { $0.scopes }
          promise.core.join(scopes)
          promise.core.abandon(cancelling: true, for: scopes)
          endProducing()
        }
      }
    } catch {
      let reached = progress(after: source, outcome)
      _ = fail(error, by: .adopted, reached: reached, &agenda)
    }
  }

  // On its own, because the closure takes room that most links can do without.
  @inline(never)
  private func callMarked(
    _ handler: (Outcome) throws -> Decision, _ outcome: Outcome
  ) throws -> Decision {
    guard let step = currentStep else { return try handler(outcome) }
    return try RunningStep.$current.withValue(step) { try handler(outcome) }
  }

  /// How far this promise is when the source, which is settled, has done its share.
  private func progress(after source: Core, _ outcome: Outcome) -> Double {
    if case .failure = outcome { share.of(source.progress) } else { share.of(1) }
  }
}

/// Makes of an outcome how a link ends.
@usableFromInline
typealias LinkHandler = @Sendable (Outcome) throws -> Decision

/// A link with a synchronous handler.
class HandlerLink: Link, @unchecked Sendable {
  // Sendable as its superclass is: the handler is taken by the one thread that runs it, after it
  // took this out of the source's list, and read by others only while this is in there.
  fileprivate var handler: LinkHandler?

  init(_ traits: Traits, _ handler: @escaping LinkHandler) {
    self.handler = handler
    super.init(traits, isDemanded: false, hasProducer: true)
  }

  override func react(to source: Core, _ agenda: inout Agenda) {
    // Taken out: a promise must not keep what its handler holds any longer than it needs it.
    guard !waitsForTurn(source), let handler = handler.take() else { return }
    let outcome = source.settledOutcome
    settle(after: source, outcome, &agenda, handler)
  }

  override func discard() {
    // The handler is not going to settle this promise.
    defer { endProducing() }
    // A retained promise that was canceled must not retain the captured values of its handler.
    guard let handler = handler.take(), kind == .cleanup else { return }
    // Told as those are who wait for this promise, which is about to fail. Cleaning up is work too.
    let scopes = withLock { $0.scopes }
    attach(
      Callback(on: .queue(blockedQueue), seesFailures: false) { outcome in
        withExtendedLifetime(scopes) { _ = try? handler(outcome) }
      })
  }

  override var recipe: (@Sendable (AnyPromise) -> AnyPromise)? {
    guard let handler else { return nil }
    return { [kind] in $0.link(kind, on: nil, handler) }
  }
}

/// A link with a handler that runs on a queue.
final class QueueLink: HandlerLink, @unchecked Sendable {
  // Sendable as its superclass is: it adds a constant only.
  private let queue: DispatchQueue

  init(_ traits: Traits, on queue: DispatchQueue, _ handler: @escaping LinkHandler) {
    self.queue = queue
    super.init(traits, handler)
  }

  override var blockedQueue: DispatchQueue? { queue }

  override func react(to source: Core, _ agenda: inout Agenda) {
    guard !waitsForTurn(source), let handler = handler.take() else { return }
    let outcome = source.settledOutcome
    queue.async {
      Trampoline.onQueue.with(self) {
        var agenda = Agenda()
        self.settle(after: source, outcome, &agenda, handler)
        agenda.run()
      }
    }
  }

  override var recipe: (@Sendable (AnyPromise) -> AnyPromise)? {
    guard let handler else { return nil }
    return { [kind, queue] in $0.link(kind, on: queue, handler) }
  }
}

/// A link with an asynchronous handler, which runs in a task of its own.
final class TaskLink: Link, @unchecked Sendable {
  // Sendable as its superclass is: for the handler, see `HandlerLink`; the task is reached under the
  // lock of this promise.
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
      await withUnsafeCurrentTask { current in
        // Before the handler begins, which may be cancelled before it is suspended for the first time.
        let wasCancelled = withLock { settlement in
          task.enter(current)
          return settlement.wasCancelled
        }
        // Cancelled in between, this promise found no task to cancel.
        if wasCancelled { stopWork() }
        // The handler only: what runs here after it is not its step's.
        let decision: Result<Decision, any Error>
        do {
          if let step = currentStep {
            decision = .success(
              try await RunningStep.$current.withValue(step) { try await handler(outcome) })
          } else {
            decision = .success(try await handler(outcome))
          }
        } catch {
          decision = .failure(error)
        }
        let mayEnd = withLock { _ in task.leave() }
        var agenda = Agenda()
        settle(after: source, outcome, &agenda) { _ in try decision.get() }
        agenda.run()
        guard !mayEnd else { return }
        await withUnsafeContinuation { continuation in
          if withLock({ _ in task.leave(continuation) }) { continuation.resume() }
        }
      }
    }
  }

  override func stopWork() {
    guard let current = withLock({ _ in task.beginCancel() }) else { return }
    current.cancel()
    withLock { _ in task.endCancel() }?.resume()
  }

  override func discard() {
    // The handler is not going to settle this promise.
    defer { endProducing() }
    // A retained promise that was canceled must not retain the captured values of its handler.
    guard let handler = handler.take(), kind == .cleanup else { return }
    // Told as those are who wait for this promise, which is about to fail. Cleaning up is work too.
    let scopes = withLock { $0.scopes }
    attach(
      Callback(on: .queue(nil), seesFailures: false) { outcome in
        Task.startingHere {
          _ = try? await handler(outcome)
          withExtendedLifetime(scopes) {}
        }
      })
  }

  override var recipe: (@Sendable (AnyPromise) -> AnyPromise)? {
    guard let handler else { return nil }
    return { [kind, runsOnMainQueue] in $0.link(kind, isOnMainQueue: runsOnMainQueue, handler) }
  }
}

extension AnyPromise {
  /// Makes a promise of what a handler makes of this one's outcome.
  @usableFromInline
  func link(
    _ kind: LinkKind, on queue: DispatchQueue?, _ handler: consuming @escaping LinkHandler
  ) -> AnyPromise {
    guard let queue else { return attach(HandlerLink(traits(kind), handler)) }
    let traits = traits(kind, isOnMainQueue: MainQueue.is(queue))
    return attach(QueueLink(traits, on: queue, handler))
  }

  /// Makes a promise of what a handler, to be called on an actor, makes of this one's outcome.
  @usableFromInline
  func link(
    _ kind: LinkKind, isolatedTo isolation: any Actor, _ handler: @escaping LinkHandler
  ) -> AnyPromise {
    switch HandlerPlace(nil, isolation: isolation) {
    case .queue(let queue): link(kind, on: queue, handler)
    case .actor(let actor):
      link(kind, isOnMainQueue: false) { outcome in
        try await perform(on: actor) { try handler(outcome) }
      }
    }
  }

  /// Makes a promise of what an asynchronous handler makes of this one's outcome.
  func link(
    _ kind: LinkKind, isOnMainQueue: Bool, _ handler: @escaping TaskLink.Handler
  ) -> AnyPromise {
    attach(TaskLink(traits(kind, isOnMainQueue: isOnMainQueue), handler))
  }

  /// What a promise is made with that is made from this one.
  func traits(_ kind: LinkKind, isOnMainQueue: Bool = false) -> Core.Traits {
    Core.Traits(
      origin: core.origin, depth: kind.countsNothing ? core.depth : core.depth + 1, kind: kind,
      runsOnMainQueue: isOnMainQueue)
  }

  func attach(_ link: Link) -> AnyPromise {
    link.depend(on: Upstream(core))
    core.attach(link: link)
    return AnyPromise(core: link, lifeline: lifeline)
  }
}

/// Calls back with an outcome, without making a new promise.
final class Callback: Reaction, @unchecked Sendable {
  // Sendable as its superclass is: it adds constants only.
  typealias Handler = @Sendable (Outcome) -> Void

  private let place: HandlerPlace
  private let seesFailures: Bool
  private let handler: Handler

  init(on place: HandlerPlace, seesFailures: Bool, _ handler: @escaping Handler) {
    self.place = place
    self.seesFailures = seesFailures
    self.handler = handler
  }

  // With a queue too: sent there by two threads, handlers would get there in any order.
  override var isImmediate: Bool { false }
  override var isCallback: Bool { true }
  override var handlesFailures: Bool { seesFailures }
  override var passesProgress: Bool { false }
  override var blockedQueue: DispatchQueue? { place.queue }

  override func react(to source: Core, _ agenda: inout Agenda) {
    let outcome = source.settledOutcome
    place.call { [handler] in handler(outcome) }
  }
}
