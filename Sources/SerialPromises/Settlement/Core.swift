/// What the copies of a promise share, apart from its value: its settlement, and who did it.
///
/// Sendable because everything mutable is touched under the lock only, but for what says otherwise.
class AnyCore: @unchecked Sendable {
  let origin: Origin

  /// How many links this is from its root, the root counted.
  let depth: Int32

  private var settlement: Settlement

  /// The next one that the same drain looks at; touched only by whoever scheduled this one.
  var nextScheduled: AnyCore?

  init(origin: Origin, depth: Int32 = 1, isDemanded: Bool = true) {
    self.origin = origin
    self.depth = depth
    settlement = Settlement(isDemanded: isDemanded)
  }

  deinit {
    guard settlement.phase == .failed, !settlement.isLookedAt, let failure,
      !(failure is CancellationError)
    else { return }
    origin.report(.unhandledFailure(origin.identity, failure))
  }

  /// Why the promise failed; only once it is settled.
  var failure: (any Error)? { nil }

  /// Fails the promise that is being cancelled; under the lock.
  fileprivate func setCancelled() {}

  /// Hangs this promise on others; only before anybody can see it.
  func hang(on upstream: Upstream) {
    settlement.hang(on: upstream)
  }

  /// Locks one of a few locks that all promises share: a lock of its own would double a promise.
  ///
  /// Two promises may have the same one, so none may be locked while another is.
  @inline(__always)
  func withLock<Result>(_ body: (inout Settlement) -> Result) -> Result {
    SharedLocks.lock(for: self).withLock { _ in body(&settlement) }
  }

  // MARK: Events

  /// Has a reaction run when this promise is settled, now if it is so already.
  func attach(_ reaction: Reaction) {
    var agenda = Agenda()
    attach(reaction, &agenda)
    agenda.run()
  }

  func attach(_ reaction: Reaction, _ agenda: inout Agenda) {
    switch withLock({ $0.attach(reaction) }) {
    case .listed: break
    case .due: agenda.append(reaction, of: self)
    case .schedules: Turn.schedule(self)
    }
  }

  func carryOut(_ consequences: Settlement.Consequences, _ agenda: inout Agenda) {
    if !consequences.watchers.isEmpty { tell(consequences.watchers, &agenda) }
    var due = consequences.due
    while let reaction = due.popFirst() { agenda.append(reaction, of: self) }
    if consequences.schedules { Turn.schedule(self) }
  }

  /// Passes progress on to those who hang on this promise, and to those who hang on them.
  private func tell(_ watchers: [Reaction], _ agenda: inout Agenda) {
    var front = ProgressFront(watchers, progress: withLock { $0.progress })
    while let (core, fraction) = front.next() {
      let consequences = core.withLock { $0.rise(to: fraction) }
      if consequences.schedules { Turn.schedule(core) }
      front.append(consequences.watchers, progress: fraction)
    }
  }

  /// Fails the promise, unless it cannot be cancelled; those who wait are not told yet.
  func beginCancel() -> (handlers: [@Sendable () -> Void], upstream: Upstream?)? {
    withLock { settlement in
      let begun = settlement.beginCancel()
      if begun != nil { setCancelled() }
      return begun
    }
  }

  /// The cancel handlers have run: tells those who wait.
  func endCancel(_ agenda: inout Agenda) {
    carryOut(withLock { $0.endCancel() }, &agenda)
  }

  /// Registers what to do when the promise is cancelled; does it now if it has been.
  func onCancel(_ handler: @escaping @Sendable () -> Void) {
    if withLock({ $0.onCancel(handler) }) { handler() }
  }

  /// Runs what waits, one after another; only for the drain that this promise was scheduled with.
  func drain(in turn: Turn) {
    while let reaction = withLock({ $0.next() }) {
      turn.runningReaction = reaction
      var agenda = Agenda()
      reaction.react(to: self, &agenda)
      agenda.run()
    }
  }
}

/// A promise's value, or why there is none.
final class Core<Value: Sendable>: AnyCore, @unchecked Sendable {
  // Sendable as its superclass is; written once, under the lock, and read by those who know, from
  // the lock or from the one that told them, that the promise is settled.
  private(set) var result: Result<Value, any Error>?

  /// A promise that is settled from the start.
  convenience init(origin: Origin, depth: Int32 = 1, _ result: Result<Value, any Error>) {
    self.init(origin: origin, depth: depth)
    _ = settle(result, by: .owner)
  }

  override var failure: (any Error)? {
    if case .failure(let error) = result { error } else { nil }
  }

  fileprivate override func setCancelled() {
    result = .failure(CancellationError())
  }

  /// Settles the promise, unless that is too late.
  ///
  /// - Returns: Whether this did it.
  @discardableResult
  func settle(_ result: Result<Value, any Error>, by settler: Settlement.Settler) -> Bool {
    var agenda = Agenda()
    defer { agenda.run() }
    return settle(result, by: settler, &agenda)
  }

  @discardableResult
  func settle(
    _ result: Result<Value, any Error>, by settler: Settlement.Settler, reached: Double = 0,
    _ agenda: inout Agenda
  ) -> Bool {
    let phase: Settlement.Phase = if case .success = result { .fulfilled } else { .failed }
    let consequences = withLock { settlement -> Settlement.Consequences? in
      let consequences = settlement.settle(as: phase, by: settler, reached: reached)
      if consequences != nil { self.result = result }
      return consequences
    }
    guard let consequences else { return false }
    carryOut(consequences, &agenda)
    return true
  }

  /// The outcome, if it is known, and now looked at.
  var outcome: Result<Value, any Error>? {
    let isKnown = withLock { settlement in
      // That of a promise that is being cancelled is: a cancel handler may ask.
      let isKnown = settlement.phase != .pending
      if isKnown { settlement.isLookedAt = true }
      return isKnown
    }
    return isKnown ? result : nil
  }

  /// Resolves this promise with another, which alone can settle it then.
  ///
  /// - Returns: Whether it was not too late.
  @discardableResult
  func adopt(
    _ other: Promise<Value>, share: ProgressShare, _ agenda: inout Agenda
  ) -> Bool {
    if other.core === self {
      // As its owner, who is too late when the promise was resolved with another before.
      return settle(
        .failure(PromiseError.resolvedWithItself(origin.identity)), by: .owner, &agenda)
    }
    let adoption = Adoption(target: self, share: share)
    let bound = withLock { $0.bind(to: Upstream(other.core, adoption)) }
    guard let bound else { return false }
    other.core.demand()
    other.core.attach(adoption, &agenda)
    // Cancelled in between, this promise found nothing to withdraw there.
    if withLock({ $0.wasCancelled }) { _ = other.core.withdraw(adoption, cancelling: true) }
    if bound.isWatched {
      other.core.watch()
      let reached = share.of(other.core.currentProgress)
      carryOut(withLock { $0.rise(to: reached) }, &agenda)
    }
    return true
  }
}

/// Passes a promise's outcome on to the promise that was resolved with it.
final class Adoption<Value: Sendable>: Reaction, @unchecked Sendable {
  private let adopter: Core<Value>
  private let adopterShare: ProgressShare

  init(target: Core<Value>, share: ProgressShare) {
    adopter = target
    adopterShare = share
  }

  override var target: AnyCore? { adopter }
  override var share: ProgressShare { adopterShare }

  override func react(to source: AnyCore, _ agenda: inout Agenda) {
    // The same type, because `adopt` takes no other.
    let source = unsafeDowncast(source, to: Core<Value>.self)
    guard let result = source.result else { return }
    let reached = result.isSuccess ? 1 : share.of(source.progress)
    adopter.settle(result, by: .adopted, reached: reached, &agenda)
  }

  override func progressed(_ fraction: Double, _ front: inout ProgressFront) {
    front.append(adopter, share.of(fraction))
  }
}

extension Result {
  var isSuccess: Bool {
    if case .success = self { true } else { false }
  }
}
