/// Recreates a promise from copies of the cold promises that it was made from.
///
/// A node for each promise, with the nodes of its sources. All operations are iterative, because
/// chains and combinations may be nested to any depth.
final class Restart: Sendable {
  /// Recreates a promise from those that it depends on.
  typealias Make = @Sendable ([AnyPromise]) -> AnyPromise

  /// The identity of the promise: two nodes of the same promise recreate it once.
  private let id: ObjectIdentifier
  private let make: Make
  private let sources: Parts<Restart>

  /// Whether the promise cannot start again.
  private let isSame: Bool

  private init(_ core: Core, _ make: Make? = nil, _ sources: [Restart] = []) {
    id = ObjectIdentifier(core)
    self.make = make ?? { _ in AnyPromise(core: core, lifeline: nil) }
    self.sources = Parts(sources)
    isSame = make == nil
  }

  deinit {
    sources.release { $0.sources.take() }
  }

  /// Recreates the promise.
  func callAsFunction() -> AnyPromise {
    var made: [ObjectIdentifier: AnyPromise] = [:]
    var frontier = [(node: self, hasSources: false)]
    while let (node, hasSources) = frontier.popLast() {
      guard made[node.id] == nil else { continue }
      let sources = node.sources.all
      if hasSources || sources.isEmpty {
        made[node.id] = node.make(sources.compactMap { made[$0.id] })
      } else {
        frontier.append((node, true))
        for source in sources.reversed() { frontier.append((source, false)) }
      }
    }
    guard let result = made[id] else { preconditionFailure("the last promise has been made") }
    return result
  }

  /// The restart of a promise; nil if none of the promises that it was made from can start again.
  ///
  /// Must be called before they start.
  static func of(_ promise: Core) -> Restart? {
    // Retains the cores, so that no other core reuses the address, and with it the identity, of a
    // released one.
    var nodes: [ObjectIdentifier: (core: Core, node: Restart)] = [:]
    var begun: Set<ObjectIdentifier> = []
    var frontier: [(core: Core, sources: Upstream.Sources?)] = [(promise, nil)]
    while let (core, sources) = frontier.popLast() {
      let id = ObjectIdentifier(core)
      if let sources {
        let node = { (core: Core) in nodes[ObjectIdentifier(core)]?.node }
        nodes[id] = (core, restart(of: core, sources, node))
        continue
      }
      guard begun.insert(id).inserted else { continue }
      let (recipe, upstream) = core.withLock { ($0.recipe, $0.upstream) }
      if let sources = upstream?.sources(of: core) {
        frontier.append((core, sources))
        sources.forEach { source, _ in frontier.append((source, nil)) }
      } else if let copy = recipe?.copy {
        nodes[id] = (core, Restart(core, { [traits = core.traits] _ in copy(traits) }))
      } else {
        nodes[id] = (core, Restart(core))
      }
    }
    return nodes[ObjectIdentifier(promise)].flatMap { $0.node.isSame ? nil : $0.node }
  }

  private static func restart(
    of core: Core, _ sources: Upstream.Sources, _ node: (Core) -> Restart?
  ) -> Restart {
    let (make, cores) =
      switch sources {
      case .one(let source, let reaction):
        // Under the lock and while listed: otherwise the reaction may be running and giving up its
        // handler.
        (source.withLock { _ in reaction.isListed ? reaction.recipe : nil }, [source])
      case .many(let junction): (junction.recipe, junction.sources)
      }
    let nodes = cores.compactMap(node)
    guard let make, nodes.count == cores.count, nodes.contains(where: { !$0.isSame })
    else { return Restart(core) }
    return Restart(core, make, nodes)
  }
}
