/// Computes the progress of a promise from those that it depends on, and records it in all of them:
/// without a listener, nothing else does.
///
/// Iterative, because combinations may be nested to any depth. Visits each promise once, however
/// many depend on it.
struct ProgressWalk {
  // Retains the promises, so that no other one reuses the address, and with it the identity, of a
  // released one.
  private var known: [ObjectIdentifier: (core: Core, fraction: Double)] = [:]
  private var front = ProgressFront()

  /// The number of visited promises.
  var visits: Int { known.count }

  mutating func progress(of core: Core) -> Double {
    core.visit { core in
      guard known[ObjectIdentifier(core)] == nil else { return nil }
      let (fraction, upstream) = core.withLock { ($0.progress, $0.upstream) }
      // The reported progress: a preliminary value, and the final one within a cycle.
      known[ObjectIdentifier(core)] = (core, fraction)
      return upstream
    } leave: { core, sources in
      let reached =
        switch sources {
        case .one(let source, _, let share): share.of(fraction(of: source))
        case .many(let junction): junction.progress(fraction)
        }
      guard reached > fraction(of: core) else { return }
      // No effect if the promise has failed meanwhile: its dependencies, which may have risen
      // since, no longer count.
      core.rise(to: reached, &front)
      known[ObjectIdentifier(core)] = (core, core.progress)
    }
    front.passOn()
    return fraction(of: core)
  }

  private func fraction(of core: Core) -> Double {
    known[ObjectIdentifier(core)]?.fraction ?? 0
  }
}
