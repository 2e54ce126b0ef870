// What concerns a promise together with those it waits for. All walks are loops, because chains may
// be long, and lock one promise at a time.

extension Core {
  /// Starts what is cold among the promises that this one waits for, and this one.
  ///
  /// What waits for its turn in a manager begins then, and not now.
  ///
  /// - Parameter scopes: What the work is done for, from its beginning to its end.
  func demand(in scopes: [WorkScope] = []) {
    var recipes: [(any Recipe, Core)] = []
    var parked: [(Core, Core)] = []
    var frontier = [self]
    // Kept, or another could take the place of one that goes away.
    var passed: [ObjectIdentifier: Core] = [:]
    while let core = frontier.popLast() {
      guard let found = core.withLock({ $0.demand(in: scopes) }) else {
        // Wanted before; but what it waits for may wait for this very turn.
        if !scopes.isEmpty, passed.updateValue(core, forKey: ObjectIdentifier(core)) == nil {
          core.withLock { $0.isDemanded ? $0.upstream : nil }?.sources(of: core)
            .forEach { source, _ in frontier.append(source) }
        }
        continue
      }
      if let recipe = found.recipe { recipes.append((recipe, core)) }
      if let source = found.parkedAt { parked.append((source, core)) }
      var sources: [Core] = []
      found.upstream?.sources(of: core).forEach { source, _ in sources.append(source) }
      // The last is looked at first.
      frontier.append(contentsOf: sources.reversed())
    }
    if let step = RunningStep.of(scopes) {
      // Marked, because work that waits for its own manager would wait for itself.
      RunningStep.$current.withValue(step) { for (recipe, core) in recipes { recipe.start(core) } }
    } else {
      for (recipe, core) in recipes { recipe.start(core) }
    }
    for (source, core) in parked { source.attach(core) }
  }

  /// A handler made this promise, and what it is made from, for these: the work has begun already.
  ///
  /// What is combined in it may have been made for others, and is left out.
  func join(_ scopes: [WorkScope]) {
    guard !scopes.isEmpty else { return }
    var next: Core? = self
    while let core = next {
      let upstream = core.withLock { settlement -> Upstream? in
        // What is cold begins when its own turn comes.
        guard settlement.isDemanded, !settlement.scopes.contains(where: { $0 === scopes.first })
        else { return nil }
        settlement.join(scopes)
        return settlement.upstream
      }
      next = if case .one(let source, _) = upstream?.sources(of: core) { source } else { nil }
    }
  }

  /// Has progress passed on to this promise from all that it waits for.
  ///
  /// - Returns: How many promises have been looked at for that.
  @discardableResult
  func watch() -> Int {
    // Each comes after those that it waits for.
    var watched: [(core: Core, sources: Upstream.Sources)] = []
    var frontier: [(core: Core, sources: Upstream.Sources?)] = [(self, nil)]
    while let (core, sources) = frontier.popLast() {
      if let sources {
        watched.append((core, sources))
      } else if let upstream = core.withLock({ $0.watch() }), let upstream {
        let sources = upstream.sources(of: core)
        frontier.append((core, sources))
        sources.forEach { source, _ in frontier.append((source, nil)) }
      }
    }
    // What was reported before anything watched was not passed on: it is looked up here. All of them
    // rise before any passes that on, or each rise would go the whole way.
    var front = ProgressFront()
    for (core, sources) in watched {
      let reached: Double
      switch sources {
      case .one(let source, let reaction): reached = reaction.share.of(source.progress)
      case .many(let junction): reached = junction.watch()
      }
      core.rise(to: reached, &front)
    }
    front.passOn()
    return watched.count
  }

  /// How far this promise was told that it has come.
  var progress: Double { withLock { $0.progress } }

  /// How far this promise has come, also if it is not watched and has not been told.
  var currentProgress: Double {
    var share = ProgressShare()
    var core = self
    // Promises that were resolved with one another, until that is found, would send this in circles:
    // noticed at a mark that moves on at ever greater distances.
    var (mark, untilMark, distance) = (self, 1, 1)
    while true {
      let (known, upstream) = core.withLock { ($0.progress, $0.upstream) }
      switch upstream?.sources(of: core) {
      case nil:
        return share.of(known)
      case .many:
        var walk = ProgressWalk()
        return share.of(walk.progress(of: core))
      case .one(let source, let reaction):
        share = share.then(reaction.share)
        core = source
        guard core !== mark else { return progress }
        untilMark -= 1
        if untilMark == 0 {
          distance *= 2
          (mark, untilMark) = (core, distance)
        }
      }
    }
  }

  /// Calls this promise off, and what it waits for if nobody else wants that.
  ///
  /// - Parameter scopes: What waits for the end of the work that is called off.
  /// - Returns: Whether it could be cancelled.
  @discardableResult
  func cancel(for scopes: [WorkScope] = []) -> Bool {
    var cancelled: [Core] = []
    var handlers: [@Sendable () -> Void] = []
    var withdrawn: [Reaction] = []
    var frontier = [(self, scopes)]
    while let (core, scopes) = frontier.popLast() {
      guard let begun = core.withLock({ $0.beginCancel(for: scopes) }) else { continue }
      cancelled.append(core)
      if begun.isParked { withdrawn.append(core) }
      handlers += begun.handlers
      begun.upstream?.sources(of: core).forEach { source, reaction in
        let (wasThere, isUnwanted) = source.withLock { $0.withdraw(reaction) }
        if wasThere { withdrawn.append(reaction) }
        if isUnwanted { frontier.append((source, begun.scopes)) }
      }
    }
    for core in cancelled { core.stopWork() }
    for handler in handlers { handler() }
    for reaction in withdrawn { reaction.discard() }
    var agenda = Agenda()
    for core in cancelled { core.carryOut(core.withLock { $0.endCancel() }, &agenda) }
    agenda.run()
    return !cancelled.isEmpty
  }

  /// Takes back the wish for this promise's outcome.
  ///
  /// - Returns: Whether the reaction had not been taken to be run.
  func withdraw(_ reaction: Reaction, cancelling: Bool, for scopes: [WorkScope] = []) -> Bool {
    let (wasThere, isUnwanted) = withLock { $0.withdraw(reaction) }
    if isUnwanted && cancelling { cancel(for: scopes) }
    return wasThere
  }

  /// Gives up this promise: marks its failure as handled and, if requested, cancels it unless
  /// something else wants its outcome.
  func abandon(cancelling: Bool, for scopes: [WorkScope] = []) {
    let placeholder = Reaction()
    attach(placeholder)
    _ = withdraw(placeholder, cancelling: cancelling, for: scopes)
  }
}

/// The promises behind a combined one, until that is settled.
///
/// Sendable because it and its subclasses have constants only, or lock what they change.
class Junction: @unchecked Sendable {
  /// What is waited for, in its order.
  let sources: [Core]

  init(_ sources: [Core]) {
    self.sources = sources
  }

  /// Calls `body` for each promise that is waited for.
  func forEachSource(_ body: (Core, Reaction) -> Void) {}

  /// Waits for none of them any more; they are not cancelled.
  ///
  /// Or what never ends would collect whatever it was ever combined in.
  final func withdraw() {
    forEachSource { _ = $0.withdraw($1, cancelling: false) }
  }

  /// How far all of them together have come.
  ///
  /// - Parameter fraction: How far one of them has.
  /// - Returns: From 0 to 1.
  func progress(_ fraction: (Core) -> Double) -> Double { 0 }

  /// Notes how far each has come from now on.
  ///
  /// - Returns: How far all of them together have come.
  func watch() -> Double { 0 }

  /// Whether something has still to be done on the main queue.
  var needsMainQueue: Bool { false }

  /// Makes the same combination of other promises; nil if that makes no sense.
  var recipe: (@Sendable ([AnyPromise]) -> AnyPromise)? { nil }
}

/// How a cold promise begins.
protocol Recipe: Sendable {
  /// Whether what begins here settles the promise.
  var settles: Bool { get }

  /// Begins the work of a promise that is wanted now.
  func start(_ core: Core)

  /// Creates a cold promise with the same work.
  func copy(_ origin: Origin) -> AnyPromise
}
