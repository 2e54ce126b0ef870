/// State that most promises do not need, kept separately for the size of plain promises.
final class Extras {
  struct State {
    /// The work of a cold promise that is not demanded.
    var recipe: (any Recipe)?
    /// Refers to this promise for the lifeline of its chain, as long as it has a recipe.
    var root: UnstartedRoot?
    /// The error of a failed promise.
    var failure: (any Error)?
    var progress = Progress()
    /// The task that does the work, if it is known.
    var worker: (any Worker)?
    var cancelHandlers: [@Sendable () -> Void] = []
    var listeners: [ProgressListener] = []
    /// The steps that work for this promise.
    var steps = TinyArray<(_ fraction: Double) -> Void>()
    /// The reactions that propagate progress, if the promise is watched.
    var watchers = WatcherList()
    /// Pending progress updates for listeners.
    var deliveries = ReactionList()
    /// The managers whose turn this promise waits for before it starts.
    var turns: [Locked<SerialOrder>] = []
    /// The settled source whose reaction waits for the turn.
    var parkedAt: Core?
    /// The scopes of the work.
    var scopes: [WorkScope] = []
    /// The promises that were resolved with this one, and depend on its source since it was
    /// forwarded.
    var adopters: [Core] = []

    mutating func deliver(_ fraction: Double, to listener: @escaping ProgressListener) {
      deliveries.append(ProgressDelivery(listener: listener, fraction: fraction))
    }
  }

  // Unchecked because the promise's lock protects all of it, and no user code runs meanwhile.
  @exclusivity(unchecked) var state = State()
}
