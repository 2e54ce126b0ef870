/// Recreates a promise from copies of the cold promises that it was made from.
///
/// A list: chains and combinations may be nested to any depth.
struct Restart: Sendable {
  /// Recreates a promise from those that it depends on.
  typealias Make = @Sendable ([AnyPromise]) -> AnyPromise

  /// The recreation of one promise, even if several others depend on it.
  private struct Part {
    let id: ObjectIdentifier
    let make: Make
    let sources: [ObjectIdentifier]
  }

  /// Each after those that need it.
  private let parts: [Part]

  /// Recreates the promise.
  func callAsFunction() -> AnyPromise {
    var made: [ObjectIdentifier: AnyPromise] = [:]
    for part in parts.reversed() { made[part.id] = part.make(part.sources.compactMap { made[$0] }) }
    guard let result = made[parts[0].id] else { preconditionFailure("it has been made") }
    return result
  }

  /// The restart of a promise; nil if none of the promises that it was made from can start again.
  ///
  /// Must be called before they start.
  static func of(_ promise: Core) -> Restart? {
    // Retains the cores, so that no other core reuses the address, and with it the identity, of a
    // released one.
    var found: [ObjectIdentifier: Core] = [:]
    var parts: [Part] = []
    var starting: Set<ObjectIdentifier> = []
    func add(_ core: Core, _ make: Make?, _ sources: [Core] = []) {
      let id = ObjectIdentifier(core)
      if make != nil { starting.insert(id) }
      let make = make ?? { _ in AnyPromise(core: core, lifeline: nil) }
      parts.append(Part(id: id, make: make, sources: sources.map(ObjectIdentifier.init)))
    }
    promise.visit { core in
      guard found.updateValue(core, forKey: ObjectIdentifier(core)) == nil else { return nil }
      let (recipe, upstream) = core.withLock { ($0.recipe, $0.upstream) }
      if upstream == nil, let copy = recipe?.copy {
        add(core, { [traits = core.traits] _ in copy(traits) })
      } else if upstream == nil {
        add(core, nil)
      }
      return upstream
    } leave: { core, sources in
      let (make, cores) =
        switch sources {
        case .one(let source, let reaction, _):
          // Under the lock and while listed: otherwise the reaction may be running and giving up
          // its handler.
          (source.withLock { _ in reaction.isListed ? reaction.recipe : nil }, [source])
        case .many(let junction): (junction.recipe, junction.sources)
        }
      let startsAgain = cores.contains { starting.contains(ObjectIdentifier($0)) }
      if startsAgain, let make { add(core, make, cores) } else { add(core, nil) }
    }
    guard starting.contains(ObjectIdentifier(promise)) else { return nil }
    // Without those that only a promise which cannot start again depends on.
    var needed: Set = [ObjectIdentifier(promise)]
    return Restart(
      parts: parts.reversed().filter { part in
        if needed.contains(part.id) { needed.formUnion(part.sources) }
        return needed.contains(part.id)
      })
  }
}
