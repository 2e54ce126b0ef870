/// What the copies of a promise share: its settlement, its value, and who made it.
///
/// A reaction itself: a promise that a link makes waits in its source's list, without an object for
/// that.
///
/// Sendable because everything mutable is touched under the lock only.
class Core: Reaction, @unchecked Sendable {
  /// What a promise is made with, and keeps.
  struct Traits {
    let origin: Origin

    /// How many links this is from its root, the root counted: what progress is shared out by.
    var depth: Int32 = 1

    /// What the link that makes this promise counts in the progress.
    var kind = LinkKind.step

    /// Whether the work of this promise itself, or its handler, runs on the main queue.
    var runsOnMainQueue = false
  }

  private let traits: Traits

  // Exclusive because of the lock: nothing foreign runs while it is held, so nothing can recur.
  @exclusivity(unchecked) private var settlement: Settlement

  /// Whether there is a value; written with it.
  @exclusivity(unchecked) private var hasValue = false

  // Not optional, which would be handled by way of its metadata.
  @exclusivity(unchecked) private var value: any Sendable = ()

  init(_ traits: Traits, isDemanded: Bool, hasProducer: Bool = false) {
    self.traits = traits
    settlement = Settlement(isDemanded: isDemanded, hasProducer: hasProducer)
    if traits.runsOnMainQueue { MainQueue.isUsed.store(true, ordering: .relaxed) }
  }

  /// Creates the root of a chain.
  convenience init(origin: Origin, isDemanded: Bool = true, hasProducer: Bool = false) {
    self.init(Traits(origin: origin), isDemanded: isDemanded, hasProducer: hasProducer)
  }

  /// A promise that is settled from the start.
  init(origin: Origin, depth: Int32 = 1, _ outcome: Outcome) {
    traits = Traits(origin: origin, depth: depth)
    switch outcome {
    case .value(let value):
      settlement = Settlement(failure: nil)
      self.value = value
      hasValue = true
    case .failure(let error):
      settlement = Settlement(failure: error)
    }
  }

  deinit {
    if settlement.phase == .pending { reportIfNeverStarted() }
    guard !settlement.isFailureHandled, let error = settlement.failure,
      !(error is CancellationError)
    else { return }
    origin.report(.unhandledFailure(origin.identity, error))
  }

  /// Reports a cold promise that goes away with handlers: before its lifeline, if nothing was made
  /// from it.
  private final func reportIfNeverStarted() {
    guard settlement.recipe != nil, !settlement.wasWithdrawn else { return }
    guard settlement.isAwaited(standsAlone: kind.standsAlone) else { return }
    origin.report(.neverStarted(origin.identity))
  }

  final var origin: Origin { traits.origin }
  final var depth: Int32 { traits.depth }
  final var kind: LinkKind { traits.kind }
  final var runsOnMainQueue: Bool { traits.runsOnMainQueue }

  /// Makes this promise depend on others.
  ///
  /// Requires that no other thread has a reference.
  final func depend(on upstream: Upstream) {
    settlement.depend(on: upstream)
  }

  /// Has this promise, which its owner alone settles, known to wait for others.
  final func wait(for junction: Junction) {
    withLock { settlement in
      if settlement.phase == .pending { settlement.depend(on: Upstream(junction)) }
    }
  }

  /// Locks one of a few locks that all promises share: a lock of its own would double a promise.
  ///
  /// Two promises may have the same one, so none may be locked while another is.
  @inline(__always)
  final func withLock<Result>(_ body: (inout Settlement) -> Result) -> Result {
    SharedLocks.lock(for: self)._withUnsafeGuaranteedRef { lock in
      lock.withLock { _ in body(&settlement) }
    }
  }

  // MARK: Looking

  /// The outcome, if it is known.
  final var outcome: Outcome? {
    withLock { settlement in
      if hasValue { return .value(value) }
      return settlement.failure.map(Outcome.failure)
    }
  }

  /// The outcome; only for those who were told that it is known.
  ///
  /// Not optional, which would be handled by way of its metadata.
  final var settledOutcome: Outcome {
    // Without the lock, because this was written before they were told, and never is again.
    if hasValue { return .value(value) }
    guard let failure else { preconditionFailure("the outcome of a pending promise was asked for") }
    return .failure(failure)
  }

  /// The outcome, if it is known.
  ///
  /// Marks a failure as handled.
  final func poll() -> Outcome? {
    withLock { settlement in
      let outcome = outcome(settlement)
      if case .failure = outcome { settlement.isFailureHandled = true }
      return outcome
    }
  }

  /// The outcome, if it is known; a failure does not count as looked at.
  final func peek() -> Outcome? { withLock { outcome($0) } }

  private func outcome(_ settlement: borrowing Settlement) -> Outcome? {
    if hasValue { return .value(value) }
    // That of a promise that is being cancelled is known: a cancel handler may ask.
    if settlement.phase == .cancelling { return .failure(CancellationError()) }
    return settlement.failure.map { .failure($0) }
  }

  final var failure: (any Error)? { withLock { $0.failure } }

  // MARK: Events

  /// Has a reaction run when this promise is settled, now if it is so already.
  final func attach(_ reaction: Reaction) {
    var agenda = Agenda()
    attach(reaction, &agenda)
    agenda.run()
  }

  /// Attaches a promise that nobody has seen yet; it is wanted if this one is.
  ///
  /// Or a time limit on it would take it for one that has still to be started.
  final func attach(link: Core) {
    let attachment = withLock { settlement in
      link.settlement.inheritDemand(from: settlement)
      return settlement.attach(link)
    }
    var agenda = Agenda()
    follow(attachment, link, &agenda)
    agenda.run()
  }

  final func attach(_ reaction: Reaction, _ agenda: inout Agenda) {
    follow(withLock { $0.attach(reaction) }, reaction, &agenda)
  }

  @inline(__always)
  private final func follow(
    _ attachment: Settlement.Attachment, _ reaction: Reaction, _ agenda: inout Agenda
  ) {
    switch attachment {
    case .listed: break
    case .schedules: Trampoline.schedule(self)
    case .due:
      var due = DueList()
      due.append(reaction)
      agenda.append(due, of: self)
    }
  }

  /// Settles the promise, unless that is too late.
  ///
  /// - Returns: Whether this did it.
  @discardableResult
  final func settle(_ outcome: Outcome, by settler: Settlement.Settler) -> Bool {
    var agenda = Agenda()
    defer { agenda.run() }
    return settle(outcome, by: settler, &agenda)
  }

  /// Settles the promise; if it fails, it had come as far as `reached` at least.
  @discardableResult
  final func settle(
    _ outcome: Outcome, by settler: Settlement.Settler, reached: Double = 0,
    _ agenda: inout Agenda
  ) -> Bool {
    switch outcome {
    case .value(let value): fulfill(value, by: settler, &agenda)
    case .failure(let error): fail(error, by: settler, reached: reached, &agenda)
    }
  }

  final func fulfill(
    _ value: any Sendable, by settler: Settlement.Settler, _ agenda: inout Agenda
  ) -> Bool {
    var consequences = Settlement.Consequences()
    let isFirst = withLock { settlement in
      let isFirst = settlement.settle(nil, by: settler, reached: 1, &consequences)
      if isFirst {
        self.value = value
        hasValue = true
      }
      return isFirst
    }
    if isFirst { carryOut(consequences, &agenda) }
    return isFirst
  }

  final func fail(
    _ error: any Error, by settler: Settlement.Settler, reached: Double, _ agenda: inout Agenda
  ) -> Bool {
    var consequences = Settlement.Consequences()
    let isFirst = withLock { $0.settle(error, by: settler, reached: reached, &consequences) }
    if isFirst { carryOut(consequences, &agenda) }
    return isFirst
  }

  /// Resolves this promise with another, which alone can settle it then.
  ///
  /// - Returns: Whether it was not too late.
  @discardableResult
  final func adopt(_ other: AnyPromise, share: ProgressShare, _ agenda: inout Agenda) -> Bool {
    let other = other.core
    if other === self {
      let error = PromiseError.resolvedWithItself(origin.identity)
      // As its owner, who is too late when the promise was resolved with another before.
      return settle(.failure(error), by: .owner, &agenda)
    }
    let adoption = Adoption(target: self, share: share)
    let (bound, scopes) = withLock { ($0.bind(to: Upstream(other, adoption)), $0.scopes) }
    guard let bound else { return false }
    other.demand(in: scopes)
    other.join(scopes)
    let attachment = other.withLock { $0.attach(adoption) }
    other.follow(attachment, adoption, &agenda)
    // Cancelled in between, this promise found nothing to withdraw there.
    if withLock({ $0.wasCancelled }) {
      _ = other.withdraw(adoption, cancelling: true, for: scopes)
    }
    if attachment != .due, other.waits(for: self) {
      _ = other.withdraw(adoption, cancelling: false)
      let error = PromiseError.resolvedWithItself(origin.identity)
      _ = fail(error, by: .adopted, reached: 0, &agenda)
      return true
    }
    if bound.isWatched {
      other.watch()
      rise(to: share.of(other.progress), &agenda)
    }
    return true
  }

  /// What this promise waits for has come further.
  final func rise(to fraction: Double, _ agenda: inout Agenda) {
    carryOut(withLock { $0.rise(to: fraction) }, &agenda)
  }

  final func carryOut(_ consequences: Settlement.Consequences, _ agenda: inout Agenda) {
    if !consequences.watchers.isEmpty { notify(consequences.watchers) }
    if !consequences.due.isEmpty { agenda.append(consequences.due, of: self) }
    if consequences.schedules { Trampoline.schedule(self) }
  }

  /// Propagates progress to the dependents of this promise, transitively.
  private final func notify(_ watchers: [Reaction]) {
    var front = ProgressFront()
    front.notify(watchers, withLock { $0.progress })
    front.passOn()
  }

  /// What this promise waits for has come further; it is passed on later.
  final func rise(to fraction: Double, _ front: inout ProgressFront) {
    let consequences = withLock { $0.rise(to: fraction) }
    if consequences.schedules { Trampoline.schedule(self) }
    front.notify(consequences.watchers, fraction)
  }

  /// The promise is cancelled: whatever is at work for it is told, without any lock.
  func stopWork() {}

  /// The work of this promise has ended, without an outcome of its own.
  ///
  /// - Returns: What it was done for.
  @discardableResult
  final func endProducing() -> [WorkScope] { withLock { $0.endProducing() } }

  /// Registers what to do when the promise is cancelled; does it now if it has been.
  final func onCancel(_ handler: @escaping @Sendable () -> Void) {
    if withLock({ $0.onCancel(handler) }) { handler() }
  }

  /// Runs what waits, one after another; only for the drain that this promise was scheduled with.
  final func drain(in trampoline: Trampoline) {
    while let reaction = withLock({ $0.next() }) {
      // Not kept waiting by what follows, which may take its time, or wait for the next step.
      if trampoline.manager != nil { trampoline.manager.take()?.continueElsewhere() }
      trampoline.runningReaction = reaction
      var agenda = Agenda()
      reaction.react(to: self, &agenda)
      trampoline.runningReaction = nil
      agenda.run()
    }
  }
}

/// Passes a promise's outcome on to the promise that was resolved with it.
final class Adoption: Reaction, @unchecked Sendable {
  // Sendable as its superclass is: it adds constants only.
  private let adopter: Core
  private let adopterShare: ProgressShare

  init(target: Core, share: ProgressShare) {
    adopter = target
    adopterShare = share
  }

  override var target: Core? { adopter }
  override var share: ProgressShare { adopterShare }

  override func react(to source: Core, _ agenda: inout Agenda) {
    let outcome = source.settledOutcome
    let reached = if case .failure = outcome { share.of(source.progress) } else { 1.0 }
    adopter.settle(outcome, by: .adopted, reached: reached, &agenda)
  }

  override func progressed(_ fraction: Double, _ front: inout ProgressFront) {
    front.rise(adopter, to: share.of(fraction))
  }
}
