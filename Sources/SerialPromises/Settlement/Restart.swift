/// Recreates a promise from copies of the cold promises that it was made from.
///
/// Iterative, because chains and combinations may be nested to any depth. A promise from which
/// several others were made is recreated once.
struct Restart: Sendable {
  private enum Part: Sendable {
    /// A promise that cannot start again.
    case same(Core)
    /// A cold promise.
    case root(any Recipe, Origin)
    /// A link on the part with this index.
    case link(Int, @Sendable (AnyPromise) -> AnyPromise)
    /// A combination of the parts with these indices.
    case combination([Int], @Sendable ([AnyPromise]) -> AnyPromise)

    var isSame: Bool { if case .same = self { true } else { false } }
  }

  /// The parts in topological order; the last is the promise itself.
  private var parts: [Part] = []

  /// Recreates the promise.
  func callAsFunction() -> AnyPromise {
    var made: [AnyPromise] = []
    for part in parts {
      switch part {
      case .same(let core): made.append(AnyPromise(core: core, lifeline: nil))
      case .root(let recipe, let origin): made.append(recipe.copy(origin))
      case .link(let source, let link): made.append(link(made[source]))
      case .combination(let sources, let combine):
        made.append(combine(sources.map { made[$0] }))
      }
    }
    guard let last = made.last else { preconditionFailure("a promise is made of parts") }
    return last
  }

  /// Must be called before the promises start.
  ///
  /// Nil if none of them can start again.
  init?(_ promise: Core) {
    // Retains the cores, so that no other core reuses the address, and with it the identity, of a
    // released one.
    var numbers: [ObjectIdentifier: (core: Core, number: Int)] = [:]
    var begun: Set<ObjectIdentifier> = []
    var frontier: [(core: Core, sources: Upstream.Sources?)] = [(promise, nil)]
    while let (core, sources) = frontier.popLast() {
      let id = ObjectIdentifier(core)
      if let sources {
        let number = { (core: Core) in numbers[ObjectIdentifier(core)]?.number }
        let part = Self.part(core, sources, number, parts)
        numbers[id] = (core, parts.count)
        parts.append(part)
        continue
      }
      guard begun.insert(id).inserted else { continue }
      let (recipe, upstream) = core.withLock { ($0.recipe, $0.upstream) }
      if let sources = upstream?.sources(of: core) {
        frontier.append((core, sources))
        sources.forEach { source, _ in frontier.append((source, nil)) }
      } else {
        numbers[id] = (core, parts.count)
        parts.append(recipe.map { .root($0, core.origin) } ?? .same(core))
      }
    }
    guard let last = parts.last, !last.isSame else { return nil }
  }

  private static func part(
    _ core: Core, _ sources: Upstream.Sources, _ number: (Core) -> Int?, _ parts: [Part]
  ) -> Part {
    switch sources {
    case .one(let source, let reaction):
      // Under the lock and while listed: otherwise the reaction may be running and giving up its
      // handler.
      let link = source.withLock { _ in reaction.isListed ? reaction.recipe : nil }
      guard let link, let source = number(source), !parts[source].isSame else { break }
      return .link(source, link)
    case .many(let junction):
      let numbers = junction.sources.compactMap(number)
      guard let combine = junction.recipe, numbers.count == junction.sources.count,
        numbers.contains(where: { !parts[$0].isSame })
      else { break }
      return .combination(numbers, combine)
    }
    return .same(core)
  }
}
