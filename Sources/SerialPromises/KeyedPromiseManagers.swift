/// A manager for each key, so that work for the same user, file or connection does not overlap.
///
/// ```swift
/// let accounts = KeyedPromiseManagers<String>()
/// let balance = try await accounts["alice"].withTurn { try await fetch() }
/// await accounts.idle()
/// ```
///
/// A manager is made when its key is first used. It remains the key's manager as long as it has
/// steps, is paused (also by a failure) or was closed for itself, as long as its rate counts a
/// step, and as long as other code retains it. Then it is forgotten, and a later use of the key
/// makes another one: keys that are no longer used take no memory. When this object is released,
/// its managers are like any others.
///
/// All members are safe to use on any thread. `==` and `hash(into:)` of the keys run under a lock,
/// and must not use this object.
public final class KeyedPromiseManagers<Key: Hashable & Sendable>: Sendable {
  private let state = Locked(State())
  private let make: @Sendable (Key) -> PromiseManager

  private struct State {
    var entries: [Key: Entry] = [:]
    /// The number of managers that were made.
    var made = 0
    var isClosed = false

    var managers: [PromiseManager] { entries.values.compactMap(\.manager) }
  }

  /// Retained by a manager: removes its entry when the manager is released.
  private final class Removal: Sendable {
    private let state: Locked<State>
    private let key: Key

    init(_ state: Locked<State>, _ key: Key) {
      (self.state, self.key) = (state, key)
    }

    deinit {
      // The stored key is released after the lock: its `deinit` may be a user's.
      let removed = state.withLock { state -> (key: Key, value: Entry)? in
        // Another thread may have found the manager gone, and made another one.
        guard let index = state.entries.index(forKey: key),
          state.entries[index].value.removal == ObjectIdentifier(self)
        else { return nil }
        return state.entries.remove(at: index)
      }
      withExtendedLifetime(removed) {}
    }
  }

  /// Creates an empty collection of managers.
  ///
  /// ```swift
  /// let hosts = KeyedPromiseManagers<String> { _ in
  ///   PromiseManager(rate: Rate(2, per: .seconds(1)))
  /// }
  /// ```
  ///
  /// - Parameter make: Makes the manager of a key. Two threads that use a key first may both call
  ///   it; one of the managers is then released.
  public init(
    _ make: @escaping @Sendable (_ key: Key) -> PromiseManager = { _ in PromiseManager() }
  ) {
    self.make = make
  }

  deinit {
    // Otherwise one that is paused would retain itself for ever.
    for entry in state.withLock({ $0.entries.values.map { $0 } }) {
      entry.manager?.order.transition { $0.release(entry.removal) }
    }
  }

  /// The manager of a key, which is made if there is none.
  ///
  /// Takes constant time.
  ///
  /// ```swift
  /// accounts["alice"].add { then in download { then() } }
  /// ```
  public subscript(key: Key) -> PromiseManager {
    if let manager = state.withLock({ $0.entries[key]?.manager }) { return manager }
    // Not under the lock: user code.
    let made = make(key)
    let removal = Removal(state, key)
    // Released after the locks, which their `deinit` takes.
    defer { withExtendedLifetime((made, removal)) {} }
    return state.withLock { state in
      if let other = state.entries[key]?.manager { return other }
      state.entries[key] = Entry(made, removal)
      state.made += 1
      // Before another thread sees it.
      made.order.withLock { order in
        order.retention.accompany(removal)
        if state.isClosed { order.close(for: nil) }
      }
      return made
    }
  }

  /// The keys whose managers are in use, in no particular order.
  ///
  /// Takes time proportional to their number.
  ///
  /// ```swift
  /// let names = accounts.keys.sorted().joined(separator: ", ")
  /// ```
  public var keys: [Key] { state.withLock { Array($0.entries.keys) } }

  private var managers: [PromiseManager] { state.withLock { $0.managers } }

  /// The number of waiting steps of all managers, not counting the running ones.
  ///
  /// Takes time proportional to the number of managers, which are counted one after another: a step
  /// that is added or starts meanwhile may be counted or not.
  ///
  /// ```swift
  /// let backlog = "\(accounts.waitingCount) to go"
  /// ```
  public var waitingCount: Int { managers.reduce(0) { $0 + $1.waitingCount } }

  /// Waits until no step of any manager runs or waits, all at the same moment.
  ///
  /// A step may add steps for any key: all of them are waited for. While other code adds steps
  /// without a pause, it may not return. As ``PromiseManager/idle()`` does, it returns early if the
  /// calling task is canceled, or is part of a running step of one of the managers, which is
  /// reported.
  ///
  /// Raises the work of each manager that is not idle to the priority of the calling task; that of
  /// one which is used later, when those are idle (<doc:LifeOfAStep#Priorities>).
  ///
  /// Takes time proportional to the number of managers, again each time that a step was added
  /// meanwhile.
  ///
  /// ```swift
  /// accounts["alice"].add { then in download { then() } }
  /// await accounts.idle()
  /// ```
  nonisolated(nonsending) public func idle() async {
    while !Task.isCancelled {
      var (managers, made) = state.withLock { ($0.managers, $0.made) }
      // Read twice: a step that adds one to a manager that was read before, and then ends, changes
      // the sum. If the sums are equal, all managers were idle between the two.
      let sum = self.sum(made, managers)
      if sum != nil, sum == self.sum(state.withLock { $0.made }, managers) { return }
      // Before the wait for another manager, which may wait for this step. Reports it.
      for manager in managers where RunningStep.deadlockedStep(manager.order) != nil {
        return await manager.idle()
      }
      let orders = managers.map(\.order)
      // Not retained meanwhile: a manager that is idle is released, because its key may not be used
      // again.
      managers = []
      await orders.wait(for: .idle)
    }
  }

  /// The number of managers that were made, and of all steps that were added to these; nil if one
  /// of these is not idle.
  private func sum(_ made: Int, _ managers: [PromiseManager]) -> Int? {
    managers.reduce(made as Int?) { sum, manager in
      sum.flatMap { sum in manager.order.withLock { $0.isIdle ? sum + $0.queue.end : nil } }
    }
  }

  /// Cancels all steps of all managers, as ``PromiseManager/cancelAll()`` does.
  ///
  /// Cancels every step that was added before. One that is added meanwhile, also by a step that
  /// ends because of this, may be canceled or not.
  ///
  /// ```swift
  /// accounts.cancelAll()
  /// await accounts.idle()  // the running steps have ended
  /// ```
  public func cancelAll() {
    for manager in managers { manager.cancelAll() }
  }

  /// Closes the managers of all keys, also of those that are used later, which refuse further
  /// steps.
  ///
  /// When it returns, all of them refuse. Steps that were added before still run.
  ///
  /// ```swift
  /// accounts.close()
  /// await accounts.idle()
  /// ```
  public func close() {
    state.withLock { $0.isClosed = true }
    for manager in managers { manager.order.withLock { $0.close(for: nil) } }
  }
}

/// The manager of a key.
///
/// A class: with Swift 6.3, a dictionary of structures with a weak reference crashes.
private final class Entry: Sendable {
  weak let manager: PromiseManager?
  let removal: ObjectIdentifier

  init(_ manager: PromiseManager, _ removal: AnyObject) {
    (self.manager, self.removal) = (manager, ObjectIdentifier(removal))
  }
}
