/// What a promise waits for: what it has to demand, to give up, and to share its progress with.
struct Upstream {
  /// The promises that this one waits for, each with the reaction that waits there.
  enum Sources {
    case one(Core, Reaction)
    case many(Junction)
  }

  let sources: Sources

  init(_ source: Core, _ reaction: Reaction) {
    sources = .one(source, reaction)
  }

  init(_ junction: Junction) {
    sources = .many(junction)
  }

  /// Calls `body` for each promise that this one waits for.
  func forEach(_ body: (Core, Reaction) -> Void) {
    switch sources {
    case .one(let source, let reaction): body(source, reaction)
    case .many(let junction): junction.forEachSource(body)
    }
  }
}
