/// Computes the progress of a promise that depends on many others.
///
/// Iterative, because combinations may be nested to any depth. Visits each promise once, however
/// many depend on it.
struct ProgressWalk {
  // Retains the promises, so that no other one reuses the address, and with it the identity, of a
  // released one.
  private var known: [ObjectIdentifier: (core: Core, fraction: Double)] = [:]
  private var frontier: [(core: Core, sources: Upstream.Sources?)] = []

  /// The number of visited promises.
  private(set) var visits = 0

  mutating func progress(of core: Core) -> Double {
    frontier.append((core, nil))
    while let (core, sources) = frontier.popLast() {
      if let sources { finish(core, sources) } else { begin(core) }
    }
    return fraction(of: core)
  }

  private func fraction(of core: Core) -> Double {
    known[ObjectIdentifier(core)]?.fraction ?? 0
  }

  private mutating func begin(_ core: Core) {
    guard known[ObjectIdentifier(core)] == nil else { return }
    visits += 1
    let (fraction, upstream) = core.withLock { ($0.progress, $0.upstream) }
    // The reported progress: a preliminary value, and the final one within a cycle.
    known[ObjectIdentifier(core)] = (core, fraction)
    guard let sources = upstream?.sources(of: core) else { return }
    frontier.append((core, sources))
    sources.forEach { source, _ in frontier.append((source, nil)) }
  }

  private mutating func finish(_ core: Core, _ sources: Upstream.Sources) {
    let reached =
      switch sources {
      case .one(let source, let reaction): reaction.share.of(fraction(of: source))
      case .many(let junction): junction.progress(fraction)
      }
    known[ObjectIdentifier(core)] = (core, max(fraction(of: core), reached))
  }
}
