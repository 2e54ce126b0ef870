/// Finds out how far a promise has come that waits for many others.
///
/// A list instead of recursion, because combinations may be nested to any depth; and each promise
/// once, however many wait for it.
struct ProgressWalk {
  // With the promise, or another could take its place, and its identity, if it went away meanwhile.
  private var known: [ObjectIdentifier: (core: Core, fraction: Double)] = [:]
  private var frontier: [(core: Core, sources: Upstream.Sources?)] = []

  /// How many promises have been looked at.
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
    // Until more is known, and for those in a circle for good: what was told.
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
