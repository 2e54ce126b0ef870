/// What a promise waits for: what it has to demand, to give up, and to share its progress with.
struct Upstream {
  /// The promises that a promise waits for, each with the reaction that waits there.
  enum Sources {
    case one(Core, Reaction)
    case many(Junction)
  }

  private enum Kind {
    // A link is the reaction itself; it does not hold itself.
    case linked(Core)
    case adopted(Core, Reaction)
    case combined(Junction)
  }

  private let kind: Kind

  /// What a link waits for.
  init(_ source: Core) {
    kind = .linked(source)
  }

  /// What a promise waits for that was resolved with another.
  init(_ source: Core, _ adoption: Reaction) {
    kind = .adopted(source, adoption)
  }

  /// What a combination waits for.
  init(_ junction: Junction) {
    kind = .combined(junction)
  }

  /// The promises that `owner`, whose upstream this is, waits for.
  func sources(of owner: Core) -> Sources {
    switch kind {
    case .linked(let source): .one(source, owner)
    case .adopted(let source, let adoption): .one(source, adoption)
    case .combined(let junction): .many(junction)
    }
  }
}

extension Core {
  /// The promises that this one waits for, each with the reaction that waits there.
  var sources: Upstream.Sources? { withLock { $0.upstream }?.sources(of: self) }
}

extension Upstream.Sources {
  /// Calls `body` for each of the promises.
  func forEach(_ body: (Core, Reaction) -> Void) {
    switch self {
    case .one(let source, let reaction): body(source, reaction)
    case .many(let junction): junction.forEachSource(body)
    }
  }
}
