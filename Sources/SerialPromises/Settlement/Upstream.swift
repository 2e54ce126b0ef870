/// The dependencies of a promise: demanded, withdrawn from, and combined into its progress.
struct Upstream {
  /// The dependencies, each with the reaction that waits for it.
  enum Sources {
    case one(Core, Reaction)
    case many(Junction)
  }

  private enum Kind {
    // A link is itself the reaction, so it must not retain itself.
    case linked(Core)
    case adopted(Core, Reaction)
    case combined(Junction)
  }

  private let kind: Kind

  /// The dependency of a link.
  init(_ source: Core) {
    kind = .linked(source)
  }

  /// The dependency of a promise that was resolved with another.
  init(_ source: Core, _ adoption: Reaction) {
    kind = .adopted(source, adoption)
  }

  /// The dependencies of a combination.
  init(_ junction: Junction) {
    kind = .combined(junction)
  }

  /// The dependencies of `owner`, whose upstream this is.
  func sources(of owner: Core) -> Sources {
    switch kind {
    case .linked(let source): .one(source, owner)
    case .adopted(let source, let adoption): .one(source, adoption)
    case .combined(let junction): .many(junction)
    }
  }
}

extension Core {
  /// The dependencies of this promise, each with the reaction that waits for it.
  var sources: Upstream.Sources? { withLock { $0.upstream }?.sources(of: self) }
}

extension Upstream.Sources {
  /// Calls `body` for each dependency.
  func forEach(_ body: (Core, Reaction) -> Void) {
    switch self {
    case .one(let source, let reaction): body(source, reaction)
    case .many(let junction): junction.forEachSource(body)
    }
  }
}
