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
    var frontier = [self]
    while let core = frontier.popLast() {
      guard let found = core.withLock({ $0.demand(in: scopes) }) else { continue }
      if let recipe = found.recipe { recipes.append((recipe, core)) }
      var sources: [Core] = []
      found.upstream?.sources(of: core).forEach { source, _ in sources.append(source) }
      // The last is looked at first.
      frontier.append(contentsOf: sources.reversed())
    }
    for (recipe, core) in recipes { recipe.start(core) }
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
        guard settlement.isDemanded, settlement.scopes.first !== scopes.first else { return nil }
        settlement.join(scopes)
        return settlement.upstream
      }
      next = if case .one(let source, _) = upstream?.sources(of: core) { source } else { nil }
    }
  }

  /// Has progress passed on to this promise from all that it waits for.
  func watch() {
    var junctions: [Junction] = []
    var frontier = [self]
    while let core = frontier.popLast() {
      guard let upstream = core.withLock({ $0.watch() }) else { continue }
      let sources = upstream?.sources(of: core)
      sources?.forEach { source, _ in frontier.append(source) }
      if case .many(let junction) = sources { junctions.append(junction) }
    }
    for junction in junctions.reversed() { junction.watch() }
    // What was reported before anybody watched is not passed on: it is looked up here.
    let progress = currentProgress
    var agenda = Agenda()
    rise(to: progress, &agenda)
    agenda.run()
  }

  /// How far this promise was told that it has come.
  var progress: Double { withLock { $0.progress } }

  /// How far this promise has come, also if nobody watches and it has not been told.
  var currentProgress: Double {
    var share = ProgressShare()
    var core = self
    // Promises that were resolved with one another would send this in circles: noticed at a mark
    // that moves on at ever greater distances.
    var (mark, untilMark, distance) = (self, 1, 1)
    while true {
      let (known, upstream) = core.withLock { ($0.progress, $0.upstream) }
      switch upstream?.sources(of: core) {
      case nil:
        return share.of(known)
      case .many(let junction):
        return share.of(max(known, junction.progress))
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
      handlers += begun.handlers
      begun.upstream?.sources(of: core).forEach { source, reaction in
        let (wasThere, isUnwanted) = source.withLock { $0.withdraw(reaction) }
        if wasThere { withdrawn.append(reaction) }
        if isUnwanted { frontier.append((source, begun.scopes)) }
      }
    }
    for core in cancelled { core.stopWork() }
    for handler in handlers { handler() }
    for reaction in withdrawn { reaction.letGo() }
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

  /// Nobody is going to ask for the outcome: a failure is no false alarm, and if the promise is to be
  /// cancelled, it is unless somebody else wants it.
  func disown(cancelling: Bool, for scopes: [WorkScope] = []) {
    let nobody = Reaction()
    attach(nobody)
    _ = withdraw(nobody, cancelling: cancelling, for: scopes)
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
  var progress: Double { 0 }

  /// Somebody listens to the progress from now on.
  func watch() {}

  /// Makes the same combination of promises that begin again; nil if none of them can.
  var recipe: (@Sendable () -> AnyPromise)? { nil }
}

extension Core {
  /// How to make this promise anew from the cold promises that it was made from.
  ///
  /// To be asked before they begin; nil if there are none.
  func beginningAgain() -> (@Sendable () -> AnyPromise)? {
    var links: [@Sendable (AnyPromise) -> AnyPromise] = []
    var core = self
    while true {
      let (recipe, upstream) = core.withLock { ($0.recipe, $0.upstream) }
      switch upstream?.sources(of: core) {
      case nil:
        guard let recipe else { return nil }
        return { [origin, links] in links.reversed().reduce(recipe.again(origin)) { $1($0) } }
      case .many(let junction):
        guard let recipe = junction.recipe else { return nil }
        return { [links] in links.reversed().reduce(recipe()) { $1($0) } }
      case .one(let source, let reaction):
        // Under the lock, and listed, or the reaction may be running and giving up its handler.
        let link = source.withLock { _ in reaction.isListed ? reaction.recipe : nil }
        guard let link else { return nil }
        links.append(link)
        core = source
      }
    }
  }
}

/// How a cold promise begins.
protocol Recipe: Sendable {
  /// Whether what begins here settles the promise.
  var settles: Bool { get }

  /// Begins the work of a promise that is wanted now.
  func start(_ core: Core)

  /// Makes a cold promise that begins in the same way.
  func again(_ origin: Origin) -> AnyPromise
}
