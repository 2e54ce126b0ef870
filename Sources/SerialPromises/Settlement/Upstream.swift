/// The dependencies of a promise: demanded, withdrawn from, and combined into its progress.
enum Upstream {
  /// The dependency of a link, which is itself the reaction, and must not retain itself.
  case linked(Core)
  /// The dependency of a promise that was resolved with another.
  case adopted(Core, Adoption)
  /// The dependency of a promise whose adopters depend on the source directly, and which has no
  /// reaction of its own there.
  case forwarded(Core, ProgressShare)
  /// The dependencies of a combination.
  case combined(any Junction)

  /// The dependencies, each with the reaction that waits for it.
  enum Sources {
    case one(Core, Reaction, ProgressShare)
    case many(any Junction)
  }

  /// The dependencies of `owner`, whose upstream this is.
  func sources(of owner: Core) -> Sources {
    switch self {
    case .linked(let source): .one(source, owner, owner.shareOfSource)
    case .adopted(let source, let adoption): .one(source, adoption, adoption.share)
    // Not listed, so that a withdrawal has no effect.
    case .forwarded(let source, let share):
      .one(source, Adoption(target: owner, share: share), share)
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
    case .one(let source, let reaction, _): body(source, reaction)
    case .many(let junction): junction.forEachSource(body)
    }
  }

  /// Calls `body` for each dependency without which `owner`, whose dependencies these are, cannot
  /// be settled.
  func forEachNeeded(by owner: Core, _ body: (Core) -> Void) {
    switch self {
    case .one(let source, _, _): if owner.kind != .limit { body(source) }
    case .many(let junction):
      if junction.waitsForAll { junction.forEachSource { source, _ in body(source) } }
    }
  }

  /// Calls `body` for each dependency, from the last to the first: a stack then has the first on
  /// top.
  ///
  /// Leaves out the promises of `when(concurrently:)`, which are demanded when they are pulled, and
  /// contribute no progress.
  func forEachFromLast(_ body: (Core) -> Void) {
    switch self {
    case .one(let source, _, _): body(source)
    case .many(let junction): junction.sources.reversed().forEach(body)
    }
  }
}
