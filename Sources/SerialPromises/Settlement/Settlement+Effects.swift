extension Settlement {
  /// The effects of a transition, performed after the lock is released.
  struct Effects {
    /// To run on the settling thread.
    var due = TinyArray<Reaction>()
    /// To notify of progress: dependents, and steps.
    var watchers = TinyArray<Reaction>()
    var steps = TinyArray<(_ fraction: Double) -> Void>()
    var hasRisen: Bool { !watchers.isEmpty || !steps.isEmpty }
    /// Whether the caller must schedule a drain.
    var schedules = false
    /// To release.
    var released: (upstream: Upstream?, extras: Extras?) = (nil, nil)
    /// The scopes of ended work, to release.
    var scopes: [WorkScope] = []
  }

  /// The effects of a demand.
  struct Demand {
    /// The dependencies to demand.
    let upstream: Upstream?
    /// The work to start.
    let recipe: (any Recipe)?
    /// To empty.
    let root: UnstartedRoot?
    /// The settled source to run the handler for.
    let parkedAt: Core?
    /// To release.
    let released: [Locked<SerialOrder>]
  }
}
