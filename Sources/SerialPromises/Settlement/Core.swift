/// The shared state of the copies of a promise: its settlement, its value and its origin.
///
/// A subclass of `Reaction`: the promise of a link waits in its source's list without another
/// object.
///
/// Sendable because mutable state is accessed only under the lock, and its place in a list as for
/// any reaction.
class Core: Reaction, @unchecked Sendable {
  /// The constants of a promise.
  struct Traits: Sendable {
    let origin: Origin

    /// The number of links from the root, including the root.
    ///
    /// Determines the share of each link in the progress.
    var depth: Int32 = 1

    /// The contribution of the link to the progress.
    var kind = LinkKind.step

    /// Whether the work or the handler of this promise runs on the main queue.
    var runsOnMainQueue = false

    /// Whether the work starts there.
    var startsOnMainQueue = false
  }

  final let traits: Traits

  // Unchecked because of the lock: no user code runs while it is held, so there is no reentrant
  // access.
  @exclusivity(unchecked) private var settlement: Settlement

  /// Whether `value` is set.
  @exclusivity(unchecked) private var hasValue = false

  // Not optional, because access to an optional existential goes through its metadata.
  @exclusivity(unchecked) private var value: any Sendable = ()

  init(_ traits: Traits, isDemanded: Bool, hasProducer: Bool = false) {
    self.traits = traits
    settlement = Settlement(isDemanded: isDemanded, hasProducer: hasProducer)
    if traits.runsOnMainQueue || traits.startsOnMainQueue {
      MainQueue.isUsed.store(true, ordering: .relaxed)
    }
  }

  /// Creates the root of a chain.
  convenience init(origin: Origin, isDemanded: Bool = true, hasProducer: Bool = false) {
    self.init(Traits(origin: origin), isDemanded: isDemanded, hasProducer: hasProducer)
  }

  /// Creates a settled promise.
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
    // Iterative: the source may have been forwarded as well, and so on.
    var source = settlement.takeForwarded()
    while isKnownUniquelyReferenced(&source), let core = source {
      source = core.settlement.takeForwarded()
    }
    if settlement.phase == .pending { reportIfNeverStarted() }
    guard !settlement.isFailureHandled, let error = settlement.failure,
      !(error is CancellationError)
    else { return }
    origin.report(.unhandledFailure(origin.identity, error))
  }

  /// Reports a cold promise with handlers that is released unstarted.
  ///
  /// Precedes the report of its lifeline if nothing was made from it.
  private final func reportIfNeverStarted() {
    guard settlement.recipe != nil, !settlement.wasWithdrawn else { return }
    guard settlement.isAwaited(standsAlone: kind.standsAlone) else { return }
    origin.report(.neverStarted(origin.identity))
  }

  final var origin: Origin { traits.origin }
  final var depth: Int32 { traits.depth }
  final var kind: LinkKind { traits.kind }
  final var runsOnMainQueue: Bool { traits.runsOnMainQueue }

  /// The contribution of the source of a link to its progress.
  final var shareOfSource: ProgressShare {
    // The depth of the source relative to this one's.
    kind == .step ? ProgressShare(fraction: Double(depth - 1) / Double(depth)) : ProgressShare()
  }

  /// Whether the work of this promise, which has no source, waits for the main queue.
  final var waitsForMainQueue: Bool {
    withLock { settlement in
      // A settled promise needs no thread.
      guard !settlement.isSettled else { return false }
      let isStarting = settlement.start == .open || settlement.start == .cancelPending
      return runsOnMainQueue || traits.startsOnMainQueue && isStarting
    }
  }

  /// Makes this promise depend on others.
  ///
  /// Requires that no other thread has a reference.
  final func depend(on upstream: Upstream) {
    settlement.depend(on: upstream)
  }

  /// Locks one of a fixed number of locks shared by all promises: a lock of its own would double
  /// the size of a promise.
  ///
  /// Two promises may share a lock, so never lock one promise while another is locked. To lock
  /// several, use `SharedLocks.withLocks(for:_:)`. The lock of an order may be held, and must not
  /// be taken in `body`.
  @inline(__always)
  final func withLock<Result>(_ body: (inout Settlement) -> Result) -> Result {
    SharedLocks.withLock(for: self) { body(&settlement) }
  }

  // MARK: Outcome

  /// The outcome.
  ///
  /// Requires that the promise is settled and the caller was notified.
  ///
  /// Not optional, because access to an optional existential goes through its metadata.
  final var settledOutcome: Outcome {
    // Without the lock: it was written before the notification, and is constant from then on.
    if hasValue { return .value(value) }
    guard let failure else { preconditionFailure("the outcome of a pending promise was asked for") }
    return .failure(failure)
  }

  /// Reads the outcome.
  ///
  /// - Parameter handlesFailure: Whether to mark a failure as handled.
  /// - Returns: The outcome, if it is known.
  final func poll(handlesFailure: Bool = true) -> Outcome? {
    let (known, isForwarded) = withLock { settlement -> (Outcome?, Bool) in
      let outcome = outcome(settlement)
      if handlesFailure, case .failure = outcome { settlement.markFailureHandled() }
      return (outcome, settlement.isForwarded)
    }
    guard isForwarded else { return known }
    rejoin()
    return poll(handlesFailure: handlesFailure)
  }

  private func outcome(_ settlement: borrowing Settlement) -> Outcome? {
    if hasValue { return .value(value) }
    // A promise that is being canceled has an outcome: a cancel handler may request it.
    if settlement.phase == .cancelling { return .failure(CancellationError()) }
    return settlement.failure.map { .failure($0) }
  }

  final var failure: (any Error)? { withLock { $0.failure } }

  // MARK: Events

  /// Attaches a reaction, which runs when this promise is settled, or immediately if it is.
  final func attach(_ reaction: Reaction) {
    Agenda.run { attach(reaction, &$0) }
  }

  /// Attaches a new promise.
  ///
  /// The new promise is demanded if this one is.
  ///
  /// Otherwise a time limit on it would treat it as not started.
  final func attach(link: Core) {
    let attachment = withLock { settlement in
      link.settlement.inheritDemand(from: settlement)
      return settlement.attach(link)
    }
    Agenda.run { follow(attachment, link, &$0) }
  }

  final func attach(_ reaction: Reaction, _ agenda: inout Agenda) {
    follow(withLock { $0.attach(reaction) }, reaction, &agenda)
  }

  /// As `attach`, without the effects, for a caller that holds the lock.
  ///
  /// - Returns: The effect, and whether this promise has failed.
  final func attachLocked(_ reaction: Reaction) -> (Settlement.Attachment, hasFailed: Bool) {
    (settlement.attach(reaction), settlement.phase == .failed)
  }

  @inline(__always)
  private final func follow(
    _ attachment: Settlement.Attachment, _ reaction: Reaction, _ agenda: inout Agenda
  ) {
    switch attachment {
    case .listed: break
    case .schedules: Trampoline.schedule(self)
    case .due: agenda.append(reaction, of: self)
    case .rejoins: rejoin(&agenda)
    }
  }

  /// Settles the promise, unless it is already settled.
  ///
  /// - Returns: Whether this call settled it.
  @discardableResult
  final func settle(_ outcome: Outcome, by settler: Settlement.Settler) -> Bool {
    Agenda.run { settle(outcome, by: settler, &$0) }
  }

  /// Settles the promise.
  ///
  /// A failed promise has at least the progress `reached`.
  @inline(__always)
  @discardableResult
  final func settle(
    _ outcome: Outcome, by settler: Settlement.Settler, reached: @autoclosure () -> Double = 0,
    _ agenda: inout Agenda
  ) -> Bool {
    var effects = Settlement.Effects()
    let isFirst = record(outcome, by: settler, reached: reached(), &effects)
    if isFirst { carryOut(effects, &agenda) }
    return isFirst
  }

  /// Settles the promise, and leaves it to the caller to carry out the effects.
  ///
  /// The lock of an order may be held.
  @inline(__always)
  @discardableResult
  final func record(
    _ outcome: Outcome, by settler: Settlement.Settler, reached: @autoclosure () -> Double = 0,
    _ effects: inout Settlement.Effects
  ) -> Bool {
    switch outcome {
    case .value(let value): return store(value, by: settler, &effects)
    case .failure(let error):
      // Before locking: it may lock another promise.
      let reached = reached()
      return withLock { $0.settle(error, by: settler, reached: reached, &effects) }
    }
  }

  /// As `record`, without the copies of an outcome, which take a part of the time of a link.
  @inline(__always)
  final func store(
    _ value: any Sendable, by settler: Settlement.Settler, _ effects: inout Settlement.Effects
  ) -> Bool {
    withLock { settlement in
      let isFirst = settlement.settle(nil, by: settler, reached: 1, &effects)
      if isFirst {
        self.value = value
        hasValue = true
      }
      return isFirst
    }
  }

  /// Resolves this promise with another, which alone can settle it from now on.
  ///
  /// - Returns: Whether this promise was still unresolved.
  @discardableResult
  final func adopt(_ other: AnyPromise, share: ProgressShare, _ agenda: inout Agenda) -> Bool {
    let other = other.core
    if other === self {
      let error = PromiseError.resolvedWithItself(origin.identity)
      // As the owner, because the promise may already have been resolved with another one.
      return settle(.failure(error), by: .owner, reached: share.bias, &agenda)
    }
    let adoption = Adoption(target: self, share: share)
    let (bound, scopes, priority) = withLock {
      ($0.bind(to: .adopted(other, adoption)), $0.scopes, $0.priority)
    }
    guard let bound else { return false }
    other.escalate(to: priority)
    other.demand(in: scopes)
    // The manager of its step would wait for the step that this promise works for.
    if !scopes.isEmpty, let step = other.deadlockedStep(in: scopes) {
      let error = PromiseError.deadlock(step)
      return settle(.failure(error), by: .adopted, reached: share.bias, &agenda)
    }
    other.join(scopes)
    let attachment = other.withLock { $0.attach(adoption) }
    other.follow(attachment, adoption, &agenda)
    // If this promise was canceled in between, the cancellation found no reaction to withdraw.
    if withLock({ $0.wasCancelled }) {
      _ = other.withdraw(adoption, cancelling: true, for: scopes)
    }
    if attachment != .due, other.waits(for: self) {
      _ = other.withdraw(adoption, cancelling: false)
      let error = PromiseError.resolvedWithItself(origin.identity)
      settle(.failure(error), by: .adopted, reached: share.bias, &agenda)
      return true
    }
    if bound.isWatched {
      other.watch()
      rise(to: share.of(other.progress), &agenda)
    }
    if bound.hasAdopters, attachment != .due { forward(to: other, adoption, &agenda) }
    return true
  }

  /// Lets the adopters of this promise depend on the promise that it was resolved with.
  private final func forward(to source: Core, _ adoption: Adoption, _ agenda: inout Agenda) {
    var adopters: [Core] = []
    withLock { $0.takeAdopters() }.forEach { old in
      guard let old = old as? Adoption, let adopter = old.target else { return }
      let new = Adoption(target: adopter, share: old.share.then(adoption.share))
      let (released, isRebound) = adopter.withLock {
        $0.rebind(old, to: .adopted(source, new))
      }
      withExtendedLifetime(released) {}
      // Otherwise it was canceled, and has found no reaction to withdraw.
      guard isRebound else { return }
      adopters.append(adopter)
      source.attach(new, &agenda)
      // Progress in between found no dependent.
      if adopter.withLock({ $0.isWatched }) {
        adopter.rise(to: new.share.of(source.progress), &agenda)
      }
      // The same, if it was canceled in between.
      if adopter.withLock({ $0.wasCancelled }) {
        _ = source.withdraw(new, cancelling: false)
      }
    }
    let (isForwarded, released) = withLock {
      $0.forward(to: .forwarded(source, adoption.share), adopters)
    }
    // The withdrawal cancels the source if all adopters were canceled meanwhile.
    if isForwarded { _ = source.withdraw(adoption, cancelling: true) }
    withExtendedLifetime(released) {}
  }

  /// Lets a promise that was forwarded depend on its source again, because it is observed.
  final func rejoin() {
    Agenda.run { rejoin(&$0) }
  }

  final func rejoin(_ agenda: inout Agenda) {
    // Iterative: the source may have been forwarded as well, and so on.
    var next: Core? = self
    while let core = next.take(), let (source, adoption) = core.withLock({ $0.rejoin(core) }) {
      let attachment = source.withLock { $0.attach(adoption) }
      if attachment == .rejoins {
        next = source
      } else {
        source.follow(attachment, adoption, &agenda)
      }
    }
  }

  /// Records progress of a promise that this one depends on.
  final func rise(to fraction: Double, _ agenda: inout Agenda) {
    carryOut(withLock { $0.rise(to: fraction) }, &agenda)
  }

  final func carryOut(_ effects: Settlement.Effects) {
    Agenda.run { carryOut(effects, &$0) }
  }

  final func carryOut(_ effects: Settlement.Effects, _ agenda: inout Agenda) {
    // Canceled before its work started.
    effects.released.extras?.state.root?.take()
    if effects.hasRisen {
      // To the dependents of this promise, transitively.
      var front = ProgressFront()
      front.notify(effects, withLock { $0.progress })
      front.passOn()
    }
    effects.due.forEach { agenda.append($0, of: self) }
    if effects.schedules { Trampoline.schedule(self) }
  }

  /// Records progress of a promise that this one depends on.
  ///
  /// `front` propagates it later.
  final func rise(to fraction: Double, _ front: inout ProgressFront) {
    let effects = withLock { $0.rise(to: fraction) }
    if effects.schedules { Trampoline.schedule(self) }
    front.notify(effects, fraction)
  }

  /// Ends the work of this promise without an outcome of its own.
  ///
  /// - Returns: The scopes of the work.
  @discardableResult
  final func endProducing() -> [WorkScope] { withLock { $0.endProducing() } }

  /// Registers a cancel handler; calls it immediately if the promise is canceled.
  final func onCancel(_ handler: @escaping @Sendable () -> Void) {
    if withLock({ $0.onCancel(handler) }) { handler() }
  }

  /// Runs the pending reactions in order.
  ///
  /// Reserved for the drain that this promise was scheduled with.
  final func drain(in trampoline: Trampoline) {
    while let reaction = withLock({ $0.next() }) {
      // Not delayed by the next handler, which may take long or wait for the next step.
      if trampoline.manager != nil { trampoline.manager.take()?.continueElsewhere() }
      trampoline.runningReaction = (ObjectIdentifier(reaction), reaction.role == .stepEnd)
      Agenda.run { agenda in
        reaction.react(to: self, &agenda)
        trampoline.runningReaction = nil
      }
    }
  }
}

/// Passes the outcome of a promise to the promise that was resolved with it.
class Adoption: Reaction {
  private let adopter: Core
  final let share: ProgressShare

  init(target: Core, share: ProgressShare) {
    adopter = target
    self.share = share
  }

  override var role: Role { .adoption }
  override var target: Core? { adopter }

  override func react(to source: Core, _ agenda: inout Agenda) {
    adopter.settle(
      source.settledOutcome, by: .adopted, reached: share.of(source.progress), &agenda)
  }
}
