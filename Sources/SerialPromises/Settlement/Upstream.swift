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
    case forwarded(Core, ProgressShare)
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

  /// The dependency of a promise whose adopters depend on `source` directly, and which has no reaction
  /// of its own there.
  init(forwardedTo source: Core, _ share: ProgressShare) {
    kind = .forwarded(source, share)
  }

  /// The dependencies of a combination.
  init(_ junction: Junction) {
    kind = .combined(junction)
  }

  /// What the promise was forwarded to.
  var forwarded: (source: Core, share: ProgressShare)? {
    if case .forwarded(let source, let share) = kind { (source, share) } else { nil }
  }

  /// Whether this depends on `reaction`.
  func isAdopted(by reaction: Reaction) -> Bool {
    if case .adopted(_, let adoption) = kind { adoption === reaction } else { false }
  }

  /// The dependencies of `owner`, whose upstream this is.
  func sources(of owner: Core) -> Sources {
    switch kind {
    case .linked(let source): .one(source, owner)
    case .adopted(let source, let adoption): .one(source, adoption)
    // Not listed, so that a withdrawal has no effect.
    case .forwarded(let source, let share):
      .one(source, Adoption(target: owner, share: share))
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
