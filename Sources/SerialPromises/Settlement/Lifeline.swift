/// Held by every copy of a cold promise and of its dependents; detects the release of all of them.
///
/// A promise retains its dependents, to notify them, and they retain it, to demand it. Settlement
/// breaks this cycle. A promise that is never started is never settled, so its lifeline breaks the
/// cycle.
final class Lifeline: Sendable {
  enum End: Sendable {
    /// Of a cold promise.
    case root(UnstartedRoot)
    /// Of a promise that depends on several others.
    case joined(NestedObjects<Lifeline>)
  }

  private let end: End

  init(_ end: End) {
    self.end = end
  }

  static func joining(_ lifelines: [Lifeline]) -> Lifeline? {
    lifelines.count > 1 ? Lifeline(.joined(NestedObjects(lifelines))) : lifelines.first
  }

  deinit {
    switch end {
    case .root(let root):
      if let root = root.take(), root.isUnstarted { Core.invalidate([root]) }
    case .joined(let others):
      var roots: [Core] = []
      others.release { lifeline in
        switch lifeline.end {
        case .root(let root):
          if let root = root.take() { roots.append(root) }
          return []
        case .joined(let others): return others.take()
        }
      }
      Core.invalidate(roots.filter(\.isUnstarted))
    }
  }
}

/// The root of a cold chain, until its work starts or it is settled; retained by both sides.
///
/// Not a weak reference, which would make every retain and release of the promise a slow one.
final class UnstartedRoot: Sendable {
  // Accessed only under the lock of this object.
  nonisolated(unsafe) private var core: Core?

  init(_ core: Core) { self.core = core }

  /// Removes the promise, for the only caller that gets it.
  ///
  /// Call it without locks held.
  @discardableResult
  func take() -> Core? {
    SharedLocks.withLock(for: self) { core.take() }
  }
}

extension Core {
  /// Whether the work has not begun: a demand that is doing so has removed the recipe first.
  fileprivate var isUnstarted: Bool { withLock { $0.recipe != nil } }

  /// Releases the dependents of promises that can no longer be settled or accessed.
  ///
  /// Keeps a combination that another promise can still settle, if handlers wait for it.
  static func invalidate(_ roots: [Core]) {
    var isAwaited = false
    var wasWithdrawn = false
    // Iterative: chains may be long.
    var frontier = roots
    var undecided: [Core] = []
    // The targets with known waiting handlers. Those nearest to the handlers are checked first.
    var awaited: [ObjectIdentifier: Core] = [:]
    while true {
      if let core = frontier.popLast() {
        for (target, isLost) in core.invalidate(&isAwaited, &wasWithdrawn) {
          if isLost { frontier.append(target) } else { undecided.append(target) }
        }
      } else if let core = undecided.popLast() {
        // After all roots, because another source may be lost as well.
        if core.isAwaited(known: awaited) {
          awaited[ObjectIdentifier(core)] = core
        } else {
          frontier.append(core)
        }
      } else {
        break
      }
    }
    guard isAwaited, !wasWithdrawn, let last = roots.last else { return }
    last.origin.report(.neverStarted(last.origin.identity))
  }

  /// - Returns: The dependents of this promise, and whether each can no longer be settled.
  private func invalidate(
    _ isAwaited: inout Bool, _ wasWithdrawn: inout Bool
  ) -> [(target: Core, isLost: Bool)] {
    let standsAlone = kind.standsAlone
    var effects = withLock { settlement in
      if settlement.isAwaited(standsAlone: standsAlone) { isAwaited = true }
      if settlement.wasWithdrawn { wasWithdrawn = true }
      return settlement.invalidate()
    }
    // Otherwise a source that never settles would accumulate every combination it was part of.
    effects.released.upstream?.sources(of: self).forEach { source, reaction in
      _ = source.withdraw(reaction, cancelling: false)
    }
    effects.released = (nil, nil)
    var found: [(target: Core, isLost: Bool)] = []
    effects.due.forEach { reaction in
      if let target = reaction.target { found.append((target, target.losesSource())) }
    }
    return found
  }

  /// Records that a dependency will never be settled.
  ///
  /// - Returns: Whether this promise cannot be settled either.
  private func losesSource() -> Bool {
    if case .many(let junction) = sources { junction.sourceIsLost() } else { true }
  }

  /// Whether a user's handler waits for this promise or a dependent of it.
  private func isAwaited(known: [ObjectIdentifier: Core]) -> Bool {
    var seen: Set<ObjectIdentifier> = []
    var frontier = [self]
    while let core = frontier.popLast() {
      guard seen.insert(ObjectIdentifier(core)).inserted else { continue }
      guard known[ObjectIdentifier(core)] == nil else { return true }
      let (isAwaited, targets) = core.withLock { settlement in
        (settlement.isAwaited(standsAlone: core.kind.standsAlone), settlement.targets(limit: .max))
      }
      if isAwaited { return true }
      frontier += targets ?? []
    }
    return false
  }
}
