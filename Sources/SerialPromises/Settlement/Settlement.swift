/// A pure state machine that decides how a promise is settled, and in which order its reactions
/// run.
///
/// It calls no handlers and takes no locks. The promise's core locks it, makes a transition,
/// unlocks it and performs the returned effects. Everything that could run user code is
/// returned as an effect.
struct Settlement {
  enum Phase: UInt8 {
    /// The outcome is open. → cancelling, fulfilled, failed
    case pending
    /// The promise is going to fail; the cancel handlers run before its reactions. → failed
    case cancelling
    /// Has a value. Final.
    case fulfilled
    /// Has an error. Final.
    case failed
  }

  /// The origin of a settlement.
  enum Settler {
    /// The owner of the promise.
    case owner
    /// The promise that it was resolved with.
    case adopted
  }

  // References first, so that each following property takes a byte.

  /// The promises that this one depends on; nil for a root, and after settlement.
  private(set) var upstream: Upstream?

  private var reactions = ReactionList()

  /// State that most promises do not need.
  private var extras: Extras?

  private(set) var phase = Phase.pending

  /// Whether the owner resolved this promise with another, which alone can settle it now.
  private(set) var isBound = false

  /// Whether the work can be canceled from its start.
  ///
  /// Otherwise a cancellation between the start and the registration of a cancel handler would have
  /// no effect.
  enum Start: UInt8 {
    /// The work has not been started, or has been.
    case none
    /// It registers a cancel handler in any case.
    case cancellable
    /// It is being started, and may register one.
    case open
    /// As `open`, and a cancellation waits for that.
    case cancelPending
  }

  private(set) var start = Start.none

  /// Whether the promise was canceled.
  private(set) var wasCancelled = false

  /// Whether the value is demanded, so that a cold promise has been started.
  private(set) var isDemanded: Bool

  /// Whether a failure is or will be handled.
  private(set) var isFailureHandled = false

  /// Whether a drain is scheduled for this promise; only that drain calls `next`.
  private(set) var isScheduled = false

  /// Whether the producer has still to settle the promise.
  ///
  /// The work of a canceled promise may continue after its settlement.
  private(set) var hasProducer: Bool

  /// Whether a reaction for the settling thread was attached.
  private var hasImmediateReactions = false

  /// Whether the dependencies propagate their progress to this promise.
  private(set) var isWatched = false

  /// Whether a reaction was withdrawn.
  private(set) var wasWithdrawn = false

  /// Whether the handler of a step runs that starts the promise.
  private var isInStepHandler = false

  /// The highest priority of the tasks that have awaited this promise, or one that depends on it; 0
  /// if none has.
  private(set) var priority: UInt8 = 0

  init(isDemanded: Bool = true, hasProducer: Bool = false) {
    self.isDemanded = isDemanded
    self.hasProducer = hasProducer
  }

  /// Creates a settled promise.
  init(failure: (any Error)?) {
    isDemanded = true
    hasProducer = false
    phase = failure == nil ? .fulfilled : .failed
    if failure != nil { neededExtras.state.failure = failure }
  }

  var isSettled: Bool { phase == .fulfilled || phase == .failed }

  /// The error of a failed promise.
  var failure: (any Error)? { extras?.state.failure }

  /// Whether the promise was canceled, or failed because a dependency was.
  var isCancellation: Bool { wasCancelled || failure is CancellationError }

  // MARK: Attaching

  enum Attachment {
    /// The reaction is listed.
    case listed
    /// The promise is settled; the caller runs the reaction.
    case due
    /// The reaction is listed; the caller schedules a drain.
    case schedules
    /// The reaction is listed; the promise was forwarded, and the caller lets it depend on its
    /// source again.
    case rejoins
  }

  mutating func markFailureHandled() { isFailureHandled = true }

  mutating func attach(_ reaction: Reaction) -> Attachment {
    if reaction.handlesFailures { isFailureHandled = true }
    if reaction.isImmediate {
      if isSettled { return .due }
      hasImmediateReactions = true
    }
    if isWatched, !isSettled, reaction.target != nil {
      neededExtras.state.watchers.append(reaction)
    }
    reactions.append(reaction)
    guard isSettled else { return isForwarded ? .rejoins : .listed }
    return !isLeftToStepHandler && claimDrain() ? .schedules : .listed
  }

  /// Removes a reaction.
  ///
  /// - Returns: Whether it was listed, and whether the outcome is no longer wanted.
  mutating func withdraw(_ reaction: Reaction) -> (wasThere: Bool, isUnwanted: Bool) {
    let wasThere = reactions.remove(reaction)
    if wasThere {
      wasWithdrawn = true
      if isWatched { extras?.state.watchers.remove(reaction) }
    }
    let isWanted = !reactions.isEmpty || extras?.state.adopters.isEmpty == false
    return (wasThere, wasThere && !isWanted && phase == .pending)
  }

  /// Whether the caller must schedule a drain, because none is scheduled.
  private mutating func claimDrain() -> Bool {
    defer { isScheduled = true }
    return !isScheduled
  }

  /// The next reaction for the drain; nil ends the drain.
  mutating func next() -> Reaction? {
    if let delivery = extras?.state.deliveries.popFirst() { return delivery }
    if isSettled, let reaction = reactions.popFirst() { return reaction }
    isScheduled = false
    return nil
  }

  // MARK: Dependencies

  /// The dependents of this promise; nil if there are more reactions than `limit`.
  func targets(limit: Int) -> [Core]? { reactions.targets(limit: limit) }

  /// Makes this promise depend on others, unless it has an outcome.
  mutating func depend(on upstream: Upstream) {
    if phase == .pending { self.upstream = upstream }
  }

  /// Makes another promise the only one that can settle this one.
  ///
  /// - Returns: The previous dependencies, to release, and whether all dependents are adopters. Nil
  ///   if this promise was already settled or bound.
  mutating func bind(to adoption: Upstream) -> (
    released: Upstream?, isWatched: Bool, hasAdopters: Bool
  )? {
    guard phase == .pending, !isBound else { return nil }
    isBound = true
    // The owner's further actions are not the work of this promise.
    hasProducer = false
    defer { upstream = adoption }
    return (upstream, isWatched, hasOnlyAdopters)
  }

  // MARK: Forwarding

  // A promise that is resolved with another, and that only adopters depend on, is forwarded: the
  // adopters depend on the other one, and nothing depends on the promise. Otherwise a loop of
  // handlers that each return the next promise would retain the promises of all its rounds.

  private var hasOnlyAdopters: Bool {
    reactions.first?.role == .adoption && !isInStepHandler
      && extras?.state.listeners.isEmpty != false && !reactions.contains { $0.role != .adoption }
  }

  /// Removes the adopters, which are going to depend on the source of this promise.
  mutating func takeAdopters() -> TinyArray<Reaction> {
    guard phase == .pending, hasOnlyAdopters else { return TinyArray<Reaction>() }
    extras?.state.watchers = WatcherList()
    return reactions.takeAll { _ in true }
  }

  /// Replaces the dependency on a promise that has been forwarded.
  ///
  /// - Returns: Whether this promise still depended on it.
  mutating func rebind(_ old: Reaction, to adoption: Upstream) -> (
    released: Upstream?, isRebound: Bool
  ) {
    guard phase == .pending, case .adopted(_, let adopted) = upstream, adopted === old else {
      return (nil, false)
    }
    defer { upstream = adoption }
    return (upstream, true)
  }

  /// Ends the dependency on the source, unless something depends on this promise.
  ///
  /// - Parameters:
  ///   - source: The source.
  ///   - adopters: The promises that depend on the source instead.
  /// - Returns: Whether this promise is forwarded, and what to release.
  mutating func forward(to source: Upstream, _ adopters: [Core]) -> (
    isForwarded: Bool, released: (Upstream?, [WorkScope])
  ) {
    guard phase == .pending, reactions.isEmpty else { return (false, (nil, [])) }
    let extras = neededExtras
    extras.state.adopters += adopters
    defer {
      upstream = source
      // The source is the rest of the work.
      extras.state.scopes = []
    }
    return (true, (upstream, extras.state.scopes))
  }

  /// Whether adopters depend on the source of this promise, which itself does not.
  var isForwarded: Bool {
    if case .forwarded = upstream { phase == .pending } else { false }
  }

  /// Removes the source of a forwarded promise, which is being released.
  mutating func takeForwarded() -> Core? {
    guard case .forwarded(let source, _) = upstream else { return nil }
    upstream = nil
    return source
  }

  /// Lets `owner`, whose state this is, depend on the source again.
  ///
  /// - Returns: The source and the reaction to attach there; nil if it was not forwarded.
  mutating func rejoin(_ owner: Core) -> (source: Core, adoption: Adoption)? {
    guard phase == .pending, case .forwarded(let source, let share) = upstream else { return nil }
    let adoption = Adoption(target: owner, share: share)
    upstream = .adopted(source, adoption)
    return (source, adoption)
  }

  /// Demands the value.
  ///
  /// - Parameter scopes: The scopes of the demanding work.
  /// - Returns: The dependencies to demand and the work to start. Nil if already demanded, or if
  ///   the promise waits for its turn in a manager to which the scopes do not belong.
  mutating func demand(in scopes: [WorkScope] = []) -> Demand? {
    guard !isDemanded,
      turns.isEmpty || turns.contains(where: { turn in scopes.contains { $0.turn === turn } })
    else { return nil }
    isDemanded = true
    let (recipe, root) = (extras?.state.recipe.take(), extras?.state.root.take())
    let (released, parkedAt) = (turns, extras?.state.parkedAt.take())
    extras?.state.turns = []
    // Together with the recipe: if the promise is canceled from now on, its work is still about to
    // start.
    if root != nil { hasProducer = true }
    if let recipe { start = recipe.isCancellable ? .cancellable : .open }
    join(scopes)
    return Demand(
      upstream: upstream, recipe: recipe, root: root, parkedAt: parkedAt, released: released)
  }

  /// Ends the start of the work.
  ///
  /// - Returns: Whether a cancellation came meanwhile, which the caller repeats.
  mutating func started() -> Bool {
    defer { start = .none }
    return start == .cancelPending
  }

  // MARK: Managers

  /// Reserves the promise, unless it was started, for a manager's turn: no other demand starts it.
  mutating func reserve(for turn: Locked<SerialOrder>) {
    guard !isDemanded, phase == .pending else { return }
    neededExtras.state.turns.append(turn)
  }

  /// Names the manager whose turn the work of the promise waits for.
  mutating func wait(for turn: Locked<SerialOrder>) { neededExtras.state.turns.append(turn) }

  /// Defers the handler until the turn, after the source has been settled.
  ///
  /// - Returns: Whether the promise waits for a turn; otherwise the handler runs.
  mutating func park(at source: Core) -> Bool {
    guard !isDemanded, phase == .pending, let extras, !extras.state.turns.isEmpty else {
      return false
    }
    extras.state.parkedAt = source
    return true
  }

  /// The managers whose turn the promise waits for.
  var turns: [Locked<SerialOrder>] { extras?.state.turns ?? [] }

  /// The scopes of this promise's work.
  var scopes: [WorkScope] { extras?.state.scopes ?? [] }

  /// Begins the handler of a step that starts this promise.
  mutating func beginStepHandler(_ scopes: [WorkScope]) {
    isInStepHandler = true
    // The thread that adds the step may not have reserved the promise yet. Without this, a promise
    // that also waits for another manager would miss this turn.
    if let turn = scopes.first?.turn, extras?.state.turns.first !== turn { reserve(for: turn) }
    join(scopes)
  }

  /// Ends the handler of a step.
  ///
  /// - Returns: The ends of steps that were left to it.
  mutating func endStepHandler() -> TinyArray<Reaction> {
    defer { isInStepHandler = false }
    return isSettled && isLeftToStepHandler
      ? reactions.takeAll { _ in true } : TinyArray<Reaction>()
  }

  /// Whether the running handler of a step performs all reactions when it returns.
  ///
  /// They only end steps, which cannot end earlier. Another thread would cost more than everything
  /// else in a short step. A user's handler needs one: the running handler may wait for it.
  private var isLeftToStepHandler: Bool {
    isInStepHandler && !isScheduled && !hasDeliveries && !reactions.contains { $0.role != .stepEnd }
  }

  /// Adds scopes to the work of this promise until its end.
  mutating func join(_ scopes: [WorkScope]) {
    guard !scopes.isEmpty, !isSettled || hasProducer else { return }
    let extras = neededExtras
    // The common case shares the array.
    if extras.state.scopes.isEmpty { return extras.state.scopes = scopes }
    for scope in scopes where !extras.state.scopes.contains(where: { $0 === scope }) {
      extras.state.scopes.append(scope)
    }
  }

  /// Ends the work of this promise.
  ///
  /// - Returns: The scopes of the work, to release.
  mutating func endProducing() -> [WorkScope] {
    hasProducer = false
    guard isSettled, let extras else { return [] }
    defer { extras.state.scopes = [] }
    return extras.state.scopes
  }

  /// Inherits the demand of the source of a link.
  mutating func inheritDemand(from source: borrowing Settlement) {
    isDemanded = source.isDemanded
  }

  /// The work of a cold promise that is not demanded.
  var recipe: (any Recipe)? { extras?.state.recipe }

  /// Makes the promise cold.
  ///
  /// - Parameters:
  ///   - recipe: The work to start on demand.
  ///   - root: Refers to this promise, if it is the root of a chain, whose work settles it.
  mutating func wait(toStart recipe: any Recipe, root: UnstartedRoot? = nil) {
    neededExtras.state.recipe = recipe
    neededExtras.state.root = root
  }

  // MARK: Settling

  /// Settles the promise, unless it is already settled.
  ///
  /// - Parameters:
  ///   - failure: The error of a failed promise; nil for a fulfilled one.
  ///   - settler: The origin of the settlement.
  ///   - reached: The minimum progress of the promise.
  ///   - effects: Receives what to do after unlocking.
  /// - Returns: Whether this call settled it.
  mutating func settle(
    _ failure: (any Error)?, by settler: Settler, reached: Double,
    _ effects: inout Effects
  ) -> Bool {
    // Only the producer calls this, in time or late; a cancellation does not.
    if hasProducer { effects.scopes = endProducing() }
    guard phase == .pending, settler == .adopted || !isBound else { return false }
    // Progress precedes the outcome.
    if isFollowed, case .risen(let fraction) = neededExtras.state.progress.rise(to: reached) {
      deliver(fraction, &effects)
    } else if reached > 0, failure != nil {
      _ = neededExtras.state.progress.rise(to: reached)
    }
    publish(failure, &effects)
    return true
  }

  /// Whether a cancellation would have an effect: not if the promise is settled, or is a root
  /// without a cancel handler.
  var isCancellable: Bool {
    phase == .pending
      && (upstream != nil || start == .cancellable || extras?.state.recipe != nil
        || extras?.state.cancelHandlers.isEmpty == false)
  }

  /// Begins a cancellation: the promise can no longer be settled, and its reactions do not run yet.
  ///
  /// - Parameter scopes: The scopes that wait for the end of the canceled work.
  /// - Returns: The cancel handlers and the dependencies. Nil if the promise cannot be canceled.
  mutating func beginCancel(
    for scopes: [WorkScope] = []
  ) -> (
    handlers: [@Sendable () -> Void], upstream: Upstream?, adopters: [Core], scopes: [WorkScope],
    parkedAt: Core?
  )? {
    guard isCancellable else {
      if phase == .pending, start == .open { start = .cancelPending }
      return nil
    }
    let handlers = extras?.state.cancelHandlers ?? []
    phase = .cancelling
    wasCancelled = true
    join(scopes)
    // Taken: otherwise its turn could come before the end of the cancellation, and both would take
    // the handler.
    let parkedAt = extras?.state.parkedAt.take()
    return (handlers, upstream, extras?.state.adopters ?? [], self.scopes, parkedAt)
  }

  /// Ends a cancellation after the cancel handlers have run.
  mutating func endCancel() -> Effects {
    var effects = Effects()
    publish(CancellationError(), &effects)
    return effects
  }

  private mutating func publish(_ failure: (any Error)?, _ effects: inout Effects) {
    phase = failure == nil ? .fulfilled : .failed
    if hasImmediateReactions { effects.due = reactions.takeAll(where: \.isImmediate) }
    effects.released.upstream = upstream.take()
    retireExtras(failure, &effects)
    if !reactions.isEmpty || hasDeliveries, !isLeftToStepHandler {
      effects.schedules = claimDrain()
    }
  }

  /// Keeps the extras that a settled promise still needs.
  private mutating func retireExtras(
    _ failure: (any Error)?, _ effects: inout Effects
  ) {
    guard extras != nil || failure != nil else { return }
    let old = extras
    effects.released.extras = old
    extras = nil
    if let failure {
      neededExtras.state.failure = failure
      if let old { neededExtras.state.progress = old.state.progress }
    }
    if let old, !old.state.deliveries.isEmpty {
      neededExtras.state.deliveries = old.state.deliveries
    }
    // The work of a canceled promise continues.
    if hasProducer, let old, !old.state.scopes.isEmpty {
      neededExtras.state.scopes = old.state.scopes
    }
  }

  /// Registers a cancel handler.
  ///
  /// - Returns: Whether the promise is already canceled; the caller then calls the handler.
  mutating func onCancel(_ handler: @escaping @Sendable () -> Void) -> Bool {
    if phase == .pending { neededExtras.state.cancelHandlers.append(handler) }
    return wasCancelled
  }

  // MARK: Priority

  /// Records the priority of a task that awaits the promise.
  ///
  /// - Returns: The work to raise, the reactions to notify of it, and the dependencies. Nil if
  ///   there is nothing to do: the promise is settled, or was awaited with this priority before.
  mutating func escalate(to priority: UInt8) -> (
    worker: (any Worker)?, waiting: TinyArray<Reaction>, upstream: Upstream?
  )? {
    guard !isSettled, priority > self.priority else { return nil }
    self.priority = priority
    var waiting = TinyArray<Reaction>()
    // The steps in whose turns it may start.
    if !turns.isEmpty { reactions.forEach { if $0.role == .reservation { waiting.append($0) } } }
    return (extras?.state.worker, waiting, upstream)
  }

  /// Sets the task of the work, which ends with the promise.
  ///
  /// - Returns: The priority that it needs; 0 if none is known.
  mutating func work(in worker: any Worker) -> UInt8 {
    guard phase == .pending else { return 0 }
    neededExtras.state.worker = worker
    return priority
  }

  // MARK: Progress

  /// The known progress from 0 to 1.
  var progress: Double { phase == .fulfilled ? 1 : extras?.state.progress.fraction ?? 0 }

  /// Records progress that the owner reported.
  mutating func report(_ fraction: Double) -> (Progress.Change, Effects) {
    guard phase == .pending, !isBound else { return (.refused, Effects()) }
    return announce(neededExtras.state.progress.report(fraction))
  }

  /// Records progress that the asynchronous work of this promise reported.
  ///
  /// Ignored after a cancellation, and when the work has returned another promise.
  mutating func report(
    _ fraction: Double, of share: ProgressShare
  ) -> (Progress.Change, Effects) {
    guard phase == .pending, !isBound else { return (.unchanged, Effects()) }
    // Apart from the share, which may hide that it is no fraction.
    var reported = Progress()
    guard reported.report(fraction) != .refused else { return (.refused, Effects()) }
    return announce(neededExtras.state.progress.report(share.of(fraction)))
  }

  /// Records progress of a dependency.
  mutating func rise(to fraction: Double) -> Effects {
    guard phase == .pending else { return Effects() }
    return announce(neededExtras.state.progress.rise(to: fraction)).1
  }

  private mutating func announce(_ change: Progress.Change) -> (Progress.Change, Effects) {
    var effects = Effects()
    if isFollowed, case .risen(let fraction) = change {
      deliver(fraction, &effects)
      if hasDeliveries { effects.schedules = claimDrain() }
    }
    return (change, effects)
  }

  /// Whether the progress of this promise or of a dependent has a listener.
  ///
  /// A new listener's promise is watched after that, without the lock: it may be settled before.
  private var isFollowed: Bool { isWatched || extras?.state.listeners.isEmpty == false }

  private var hasDeliveries: Bool { extras?.state.deliveries.isEmpty == false }

  /// Notifies the listeners, in the order of events, and collects the dependents.
  private mutating func deliver(_ fraction: Double, _ effects: inout Effects) {
    extras?.state.listeners.forEach { extras?.state.deliver(fraction, to: $0) }
    if let extras {
      (effects.watchers, effects.steps) = (extras.state.watchers.all, extras.state.steps)
    }
  }

  /// Starts to propagate progress to this promise.
  ///
  /// - Returns: The dependencies to watch; nil if already watched.
  mutating func watch() -> Upstream?? {
    guard !isWatched else { return nil }
    isWatched = true
    // Collected here, so that an event does not search all reactions.
    reactions.forEach { if $0.target != nil { neededExtras.state.watchers.append($0) } }
    return .some(upstream)
  }

  /// Adds a step, which receives each later progress before anything else runs.
  mutating func report(to step: @escaping (_ fraction: Double) -> Void) {
    neededExtras.state.steps.append(step)
  }

  /// Adds a listener, which receives the current progress unless that is 0.
  ///
  /// - Returns: Whether the caller must schedule a drain.
  mutating func listen(_ listener: @escaping ProgressListener) -> Bool {
    if !isSettled { neededExtras.state.listeners.append(listener) }
    guard progress > 0 else { return false }
    neededExtras.state.deliver(progress, to: listener)
    return claimDrain()
  }

  // MARK: Release

  /// Whether a user's handler waits for this promise itself, not for a dependent.
  ///
  /// - Parameter standsAlone: Whether the handler of this promise has an effect without dependents.
  /// - Returns: False for a promise that is settled or being canceled: its handlers run.
  func isAwaited(standsAlone: Bool) -> Bool {
    guard phase == .pending else { return false }
    if standsAlone && reactions.isEmpty || extras?.state.listeners.isEmpty == false { return true }
    return reactions.contains { $0.role == .callback }
  }

  /// Empties a promise that can no longer be started or accessed.
  ///
  /// A promise that is settled or being canceled keeps its pending reactions.
  ///
  /// - Returns: What to release, and the reactions, which do not run.
  mutating func invalidate() -> Effects {
    guard phase == .pending else { return Effects() }
    defer {
      upstream = nil
      extras = nil
    }
    // Removed under the lock: otherwise a withdrawal on another thread would race with the caller.
    return Effects(due: reactions.takeAll { _ in true }, released: (upstream, extras))
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
