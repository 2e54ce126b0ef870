/// Decides how a promise is settled, once, and in which order that is told: a pure state machine.
///
/// It calls no handler and takes no lock; the promise's core locks, asks, unlocks and then does
/// what the answer says. Everything that could run somebody else's code leaves in the answer.
struct Settlement {
  enum Phase: UInt8 {
    /// Not known yet how it ends. → cancelling, fulfilled, failed
    case pending
    /// Bound to fail; the cancel handlers come before those who wait. → failed
    case cancelling
    /// Has a value, for ever.
    case fulfilled
    /// Has an error, for ever.
    case failed
  }

  /// Who settles a promise.
  enum Settler {
    /// Whoever made the promise.
    case owner
    /// The promise that it was resolved with.
    case adopted
  }

  // References first: what comes after them then takes a byte each.

  /// What this promise waits for; nil for a root, and once it is settled.
  private(set) var upstream: Upstream?

  private var reactions = ReactionList()

  /// What most promises do not have.
  private var extras: Extras?

  private(set) var phase = Phase.pending

  /// Whether the owner has resolved this with another promise, which alone can settle it now.
  private(set) var isBound = false

  /// Whether the promise failed, or is about to, because it was cancelled.
  private(set) var wasCancelled = false

  /// Whether somebody wants the value, so that what is cold has been started.
  private(set) var isDemanded: Bool

  /// Whether a failure is or will be handled.
  var isFailureHandled = false

  /// Whether a drain has this promise, or is about to: it alone calls `next`.
  private(set) var isScheduled = false

  /// Whether the producer has still to settle the promise.
  ///
  /// The work of a canceled promise may continue after its settlement.
  private(set) var hasProducer: Bool

  /// Whether a reaction that the settling thread runs was attached.
  private var hasImmediateReactions = false

  /// Whether somebody listens to the progress of this or of something that hangs on it.
  private(set) var isWatched = false

  /// Whether a reaction was withdrawn.
  private(set) var wasWithdrawn = false

  init(isDemanded: Bool = true, hasProducer: Bool = false) {
    self.isDemanded = isDemanded
    self.hasProducer = hasProducer
  }

  /// Settled from the start.
  init(failure: (any Error)?) {
    isDemanded = true
    hasProducer = false
    phase = failure == nil ? .fulfilled : .failed
    if failure != nil { neededExtras.failure = failure }
  }

  var isSettled: Bool { phase == .fulfilled || phase == .failed }

  /// Why the promise failed.
  var failure: (any Error)? { extras?.failure }

  /// Whether the promise was called off, or failed because what it waited for was.
  var isCancellation: Bool { wasCancelled || failure is CancellationError }

  // MARK: Attaching

  enum Attachment {
    /// It is in the list.
    case listed
    /// The promise is settled: the caller runs it.
    case due
    /// It is in the list; the caller has a drain look at it.
    case schedules
  }

  mutating func attach(_ reaction: Reaction) -> Attachment {
    if reaction.handlesFailures { isFailureHandled = true }
    if reaction.isImmediate {
      if isSettled { return .due }
      hasImmediateReactions = true
    }
    if isWatched, !isSettled, reaction.passesProgress { neededExtras.watchers.append(reaction) }
    reactions.append(reaction)
    return isSettled && claimDrain() ? .schedules : .listed
  }

  /// Takes a reaction out again.
  ///
  /// - Returns: Whether it was there, and whether nobody is left who wants the outcome.
  mutating func withdraw(_ reaction: Reaction) -> (wasThere: Bool, isUnwanted: Bool) {
    let wasThere = reactions.remove(reaction)
    if wasThere {
      wasWithdrawn = true
      if isWatched { extras?.watchers.remove(reaction) }
    }
    return (wasThere, wasThere && reactions.isEmpty && phase == .pending)
  }

  /// Whether the caller has a drain look at this promise, because nobody else does.
  private mutating func claimDrain() -> Bool {
    defer { isScheduled = true }
    return !isScheduled
  }

  /// What the drain runs next; nil if there is nothing, and the drain is over.
  mutating func next() -> Reaction? {
    if let delivery = extras?.deliveries.popFirst() { return delivery }
    if isSettled, let reaction = reactions.popFirst() { return reaction }
    isScheduled = false
    return nil
  }

  // MARK: Waiting for others

  /// The promises that wait for this one; nil if there are more reactions than `limit`.
  func targets(limit: Int) -> [Core]? { reactions.targets(limit: limit) }

  /// Makes this promise depend on others.
  mutating func depend(on upstream: Upstream) {
    self.upstream = upstream
  }

  /// Makes another promise the only one that can settle this one.
  ///
  /// - Returns: The previous dependencies, to release; nil if this promise was already settled or
  ///   bound.
  mutating func bind(to adoption: Upstream) -> (released: Upstream?, isWatched: Bool)? {
    guard phase == .pending, !isBound else { return nil }
    isBound = true
    // The owner's further actions are not the work of this promise.
    hasProducer = false
    defer { upstream = adoption }
    return (upstream, isWatched)
  }

  /// The value is wanted.
  ///
  /// - Parameter scopes: What the work is done for.
  /// - Returns: What has to be demanded for that, and what to start; nil if that was known, or if the
  ///   promise waits for its turn in a manager and these scopes are not that manager's.
  mutating func demand(
    in scopes: [WorkScope] = []
  ) -> Demand? {
    guard !isDemanded else { return nil }
    guard isTurn(of: scopes) else { return nil }
    isDemanded = true
    let (recipe, released, parkedAt) = (extras?.recipe, turns, extras?.parkedAt)
    extras?.recipe = nil
    extras?.turns = []
    extras?.parkedAt = nil
    // Together with the recipe: if the promise is canceled from now on, its work is still about to
    // start.
    if recipe?.settles == true { hasProducer = true }
    join(scopes)
    return Demand(upstream: upstream, recipe: recipe, parkedAt: parkedAt, released: released)
  }

  /// What a demand leads to.
  struct Demand {
    /// What has to be demanded, too.
    let upstream: Upstream?
    /// What to start.
    let recipe: (any Recipe)?
    /// The settled promise that the handler has to be called for.
    let parkedAt: Core?
    /// To release.
    let released: [Locked<SerialOrder>]
  }

  // MARK: Managers

  /// A manager has taken the promise as a step: until the turn comes, no demand begins it.
  ///
  /// - Returns: Whether it has not begun.
  mutating func reserve(for turn: Locked<SerialOrder>) -> Bool {
    guard !isDemanded, phase == .pending else { return false }
    neededExtras.turns.append(turn)
    return true
  }

  /// The source is settled: keeps the handler from running before its turn.
  ///
  /// - Returns: Whether the promise waits for a turn; if not, the handler runs.
  mutating func park(at source: Core) -> Bool {
    guard !isDemanded, phase == .pending, let extras, !extras.turns.isEmpty else { return false }
    extras.parkedAt = source
    return true
  }

  /// The managers whose turn the promise waits for.
  var turns: [Locked<SerialOrder>] { extras?.turns ?? [] }

  private func isTurn(of scopes: [WorkScope]) -> Bool {
    guard let turns = extras?.turns, !turns.isEmpty else { return true }
    return turns.contains { turn in scopes.contains { $0.turn === turn } }
  }

  /// What the work of this promise is done for.
  var scopes: [WorkScope] { extras?.scopes ?? [] }

  /// The work of this promise is done for these, too, until it has ended.
  mutating func join(_ scopes: [WorkScope]) {
    guard !scopes.isEmpty, !isSettled || hasProducer else { return }
    neededExtras.scopes += scopes
  }

  /// The work of this promise has ended.
  ///
  /// - Returns: The scopes of the work, to release.
  mutating func endProducing() -> [WorkScope] {
    hasProducer = false
    guard isSettled, let extras else { return [] }
    defer { extras.scopes = [] }
    return extras.scopes
  }

  /// This promise is made from another, and wanted if that one is.
  mutating func inheritDemand(from source: borrowing Settlement) {
    isDemanded = source.isDemanded
  }

  /// How to begin, while nobody has wanted the value.
  var recipe: (any Recipe)? {
    get { extras?.recipe }
    set { neededExtras.recipe = newValue }
  }

  // MARK: Settling

  /// What follows from an event, to be done after the lock is released.
  struct Consequences {
    /// To be run by the settling thread.
    var due = DueList()
    /// To be told the progress.
    var watchers: [Reaction] = []
    /// Whether the caller has a drain look at this promise.
    var schedules = false
    /// To release.
    var released: (upstream: Upstream?, extras: Extras?) = (nil, nil)
    /// The scopes of ended work, to release.
    var scopes: [WorkScope] = []
  }

  /// Settles the promise, unless that is too late.
  ///
  /// - Parameters:
  ///   - failure: Why it failed; nil if it is fulfilled.
  ///   - settler: Who wants it.
  ///   - reached: How far the promise has come at least.
  ///   - consequences: What follows.
  /// - Returns: Whether this did it.
  mutating func settle(
    _ failure: (any Error)?, by settler: Settler, reached: Double,
    _ consequences: inout Consequences
  ) -> Bool {
    // Only the producer calls this, in time or late; a cancellation does not.
    if hasProducer { consequences.scopes = endProducing() }
    guard phase == .pending, settler == .adopted || !isBound else { return false }
    // Progress is told before the outcome.
    if isWatched, case .risen(let fraction) = neededExtras.progress.rise(to: reached) {
      deliver(fraction, &consequences)
    } else if reached > 0, failure != nil {
      _ = neededExtras.progress.rise(to: reached)
    }
    publish(failure, &consequences)
    return true
  }

  /// Begins to cancel the promise: nobody can settle it any more, and nobody is told yet.
  ///
  /// - Parameter scopes: What waits for the end of the work that is called off.
  /// - Returns: The cancel handlers and what the promise waited for, or nil if it cannot be
  ///   cancelled: it is settled, or it is a root whose owner registered no handler.
  mutating func beginCancel(
    for scopes: [WorkScope] = []
  ) -> (
    handlers: [@Sendable () -> Void], upstream: Upstream?, scopes: [WorkScope], isParked: Bool
  )? {
    guard phase == .pending else { return nil }
    let handlers = extras?.cancelHandlers ?? []
    guard upstream != nil || extras?.recipe != nil || !handlers.isEmpty else { return nil }
    phase = .cancelling
    wasCancelled = true
    join(scopes)
    return (handlers, upstream, self.scopes, extras?.parkedAt != nil)
  }

  /// The cancel handlers have run: those who wait are told.
  mutating func endCancel() -> Consequences {
    var consequences = Consequences()
    publish(CancellationError(), &consequences)
    return consequences
  }

  private mutating func publish(_ failure: (any Error)?, _ consequences: inout Consequences) {
    phase = failure == nil ? .fulfilled : .failed
    if hasImmediateReactions { consequences.due = reactions.takeAll(where: \.isImmediate) }
    consequences.released.upstream = upstream.take()
    retireExtras(failure, &consequences)
    if !reactions.isEmpty || hasDeliveries { consequences.schedules = claimDrain() }
  }

  /// Keeps of the extras what is still of use to a settled promise.
  private mutating func retireExtras(
    _ failure: (any Error)?, _ consequences: inout Consequences
  ) {
    guard extras != nil || failure != nil else { return }
    let old = extras
    consequences.released.extras = old
    extras = nil
    if let failure {
      neededExtras.failure = failure
      if let old { neededExtras.progress = old.progress }
    }
    if let old, !old.deliveries.isEmpty { neededExtras.deliveries = old.deliveries }
    // The work of a canceled promise continues.
    if hasProducer, let old, !old.scopes.isEmpty { neededExtras.scopes = old.scopes }
  }

  /// Registers what to do when the promise is cancelled.
  ///
  /// - Returns: Whether it has been cancelled already, so that the caller has to do it.
  mutating func onCancel(_ handler: @escaping @Sendable () -> Void) -> Bool {
    switch phase {
    case .pending: neededExtras.cancelHandlers.append(handler)
    case .cancelling, .fulfilled, .failed: break
    }
    return wasCancelled
  }

  // MARK: Progress

  /// From 0 to 1, as far as this promise was told.
  var progress: Double { phase == .fulfilled ? 1 : extras?.progress.fraction ?? 0 }

  /// The owner says how far the work has come.
  mutating func report(_ fraction: Double) -> (Progress.Change, Consequences) {
    guard phase == .pending, !isBound else { return (.refused, Consequences()) }
    return announce(neededExtras.progress.report(fraction))
  }

  /// What this promise waits for has come further.
  mutating func rise(to fraction: Double) -> Consequences {
    guard phase == .pending else { return Consequences() }
    return announce(neededExtras.progress.rise(to: fraction)).1
  }

  private mutating func announce(_ change: Progress.Change) -> (Progress.Change, Consequences) {
    var consequences = Consequences()
    if isWatched, case .risen(let fraction) = change {
      deliver(fraction, &consequences)
      if hasDeliveries { consequences.schedules = claimDrain() }
    }
    return (change, consequences)
  }

  private var hasDeliveries: Bool { extras?.deliveries.isEmpty == false }

  /// Tells the listeners, in the order of events, and what passes progress on from this promise.
  private mutating func deliver(_ fraction: Double, _ consequences: inout Consequences) {
    extras?.listeners.forEach { extras?.deliver(fraction, to: $0) }
    consequences.watchers = extras?.watchers.all ?? []
  }

  /// Somebody wants to be told of progress from here on.
  ///
  /// - Returns: What has to be watched for that; nil if it is so already.
  mutating func watch() -> Upstream?? {
    guard !isWatched else { return nil }
    isWatched = true
    // Not looked for at each event, among all the handlers that wait for the outcome.
    reactions.forEach { if $0.passesProgress { neededExtras.watchers.append($0) } }
    return .some(upstream)
  }

  /// Adds a listener; it is told the progress so far, if there is any.
  ///
  /// - Returns: Whether the caller has a drain look at this promise.
  mutating func listen(_ listener: ProgressListener) -> Bool {
    if !isSettled { neededExtras.listeners.append(listener) }
    guard progress > 0 else { return false }
    neededExtras.deliver(progress, to: listener)
    return claimDrain()
  }

  // MARK: Going away

  /// Whether a handler of the user's waits for this promise itself, and not for one made from it.
  ///
  /// - Parameter standsAlone: Whether the handler that makes this promise is of use by itself.
  /// - Returns: False for one that is settled, or about to be: its handlers run.
  func isAwaited(standsAlone: Bool) -> Bool {
    guard phase == .pending else { return false }
    if standsAlone && reactions.isEmpty || extras?.listeners.isEmpty == false { return true }
    return reactions.contains { $0.isCallback }
  }

  /// The promise can never be started, or seen, again: gives away everything.
  ///
  /// A promise that is settled or being canceled keeps its pending reactions.
  mutating func invalidate() -> (
    reactions: DueList, released: (upstream: Upstream?, extras: Extras?)
  ) {
    guard phase == .pending else { return (DueList(), (nil, nil)) }
    defer {
      upstream = nil
      extras = nil
    }
    // Taken out under the lock, or another thread that withdraws one would do so beside the caller.
    return (reactions.takeAll { _ in true }, (upstream, extras))
  }

  private var neededExtras: Extras {
    mutating get {
      if let extras { return extras }
      let made = Extras()
      extras = made
      return made
    }
  }
}

/// What most promises do not have, so that a plain one is small.
final class Extras {
  /// How to begin, while nobody has wanted the value.
  var recipe: (any Recipe)?
  /// Why the promise failed.
  var failure: (any Error)?
  var progress = Progress()
  var cancelHandlers: [@Sendable () -> Void] = []
  var listeners: [ProgressListener] = []
  /// Those of the reactions that pass progress on, if the promise is watched.
  var watchers = WatcherList()
  /// Progress on its way to listeners.
  var deliveries = ReactionList()
  /// The managers whose turn this waits for before it begins.
  var turns: [Locked<SerialOrder>] = []
  /// What is settled, and whose reaction waits for that turn.
  var parkedAt: Core?
  /// What the work is done for.
  var scopes: [WorkScope] = []

  func deliver(_ fraction: Double, to listener: ProgressListener) {
    deliveries.append(ProgressDelivery(listener: listener, fraction: fraction))
  }
}
