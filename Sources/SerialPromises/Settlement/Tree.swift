// Operations on a promise and its dependencies. All are iterative, because chains may be long, and
// lock one promise at a time.

extension Core {
  /// Starts this promise and its dependencies, where they are cold.
  ///
  /// A promise that waits for its turn in a manager starts in that turn instead.
  ///
  /// - Parameter scopes: The scopes of the work, from its start to its end.
  func demand(in scopes: [WorkScope] = []) {
    var recipes = TinyArray<(any Recipe, Core)>()
    var parked: [(Core, Core)] = []
    var frontier = TinyArray(self)
    // Retains the promises, so that no other one reuses the address of a released one.
    var passed: [ObjectIdentifier: Core] = [:]
    while let core = frontier.popLast() {
      guard let found = core.withLock({ $0.demand(in: scopes) }) else {
        // Already demanded, but its dependencies may wait for this very turn.
        if !scopes.isEmpty, passed.updateValue(core, forKey: ObjectIdentifier(core)) == nil {
          core.withLock { $0.isDemanded ? $0.upstream : nil }?.sources(of: core)
            .forEach { source, _ in frontier.append(source) }
        }
        continue
      }
      found.root?.take()
      if let recipe = found.recipe { recipes.append((recipe, core)) }
      if let source = found.parkedAt { parked.append((source, core)) }
      found.upstream?.sources(of: core).forEachFromLast { frontier.append($0) }
    }
    if let step = RunningStep.of(scopes) {
      // Marked, because work that waits for its own manager would deadlock.
      RunningStep.local.withValue(RunningStep.Mark(step)) { recipes.forEach { $0.start($1) } }
    } else {
      recipes.forEach { $0.start($1) }
    }
    for (source, core) in parked {
      source.attach(core)
      // If it was canceled in between, the cancellation found no reaction to withdraw.
      if core.withLock({ $0.wasCancelled }), source.withdraw(core, cancelling: false) {
        core.discard()
      }
    }
  }

  /// Adds scopes to a promise that a handler returned, and to its dependencies: the work has
  /// already started.
  ///
  /// Excludes the inputs of a combination, which may have been made for other scopes.
  func join(_ scopes: [WorkScope]) {
    guard !scopes.isEmpty else { return }
    var next: Core? = self
    while let core = next {
      let upstream = core.withLock { settlement -> Upstream? in
        // A cold promise starts in its own turn.
        guard settlement.isDemanded, !settlement.scopes.contains(where: { $0 === scopes.first })
        else { return nil }
        settlement.join(scopes)
        return settlement.upstream
      }
      next = if case .one(let source, _, _) = upstream?.sources(of: core) { source } else { nil }
    }
  }

  /// Visits this promise and its dependencies, in order.
  ///
  /// - Parameters:
  ///   - enter: Returns what a promise depends on; nil if that has been visited.
  ///   - leave: Called for a promise that depends on others, after them.
  func visit(
    _ enter: (Core) -> Upstream?, leave: (_ core: Core, _ sources: Upstream.Sources) -> Void
  ) {
    var frontier = TinyArray<(core: Core, sources: Upstream.Sources?)>((self, nil))
    while let (core, sources) = frontier.popLast() {
      if let sources {
        leave(core, sources)
      } else if let sources = enter(core)?.sources(of: core) {
        frontier.append((core, sources))
        sources.forEachFromLast { frontier.append(($0, nil)) }
      }
    }
  }

  /// Propagates the progress of all dependencies to this promise.
  ///
  /// - Returns: The number of visited promises.
  @discardableResult
  func watch() -> Int {
    // Each promise follows its dependencies.
    var watched: [(core: Core, sources: Upstream.Sources)] = []
    visit {
      $0.withLock { $0.watch() } ?? nil
    } leave: {
      watched.append(($0, $1))
    }
    // Earlier progress was not propagated, so it is computed here. All promises rise before the
    // propagation: otherwise each rise would propagate through the whole chain.
    var front = ProgressFront()
    for (core, sources) in watched {
      let reached: Double
      switch sources {
      case .one(let source, _, let share): reached = share.of(source.progress)
      case .many(let junction): reached = junction.watch()
      }
      core.rise(to: reached, &front)
    }
    front.passOn()
    return watched.count
  }

  /// The known progress of this promise.
  var progress: Double { withLock { $0.progress } }

  /// Updates the progress of this promise, which depends on others.
  ///
  /// Call it before the promise fails and they no longer count.
  ///
  /// - Returns: The progress.
  @discardableResult
  func updateProgress(_ walk: inout ProgressWalk) -> Double {
    let (known, isDerived) = withLock { ($0.progress, $0.upstream != nil) }
    return isDerived ? walk.progress(of: self) : known
  }

  @discardableResult
  func updateProgress() -> Double {
    var walk = ProgressWalk()
    return updateProgress(&walk)
  }

  /// Cancels this promise, and its dependencies if nothing else wants their outcome.
  ///
  /// - Parameter scopes: The scopes that wait for the end of the canceled work.
  /// - Returns: Whether it could be canceled.
  @discardableResult
  func cancel(for scopes: [WorkScope] = []) -> Bool {
    var cancelled: [Core] = []
    var handlers: [@Sendable () -> Void] = []
    var withdrawn: [Reaction] = []
    var frontier = [(self, scopes)]
    var walk = ProgressWalk()
    while let (core, scopes) = frontier.popLast() {
      // Its dependencies count only until the withdrawal.
      core.updateProgress(&walk)
      guard let begun = core.withLock({ $0.beginCancel(for: scopes) }) else { continue }
      cancelled.append(core)
      if begun.parkedAt != nil { withdrawn.append(core) }
      handlers += begun.handlers
      for adopter in begun.adopters { frontier.append((adopter, begun.scopes)) }
      begun.upstream?.sources(of: core).forEach { source, reaction in
        let (wasThere, isUnwanted) = source.withLock { $0.withdraw(reaction) }
        if wasThere { withdrawn.append(reaction) }
        if isUnwanted { frontier.append((source, begun.scopes)) }
      }
    }
    for handler in handlers { handler() }
    for reaction in withdrawn { reaction.discard() }
    Agenda.run { agenda in
      for core in cancelled { core.carryOut(core.withLock { $0.endCancel() }, &agenda) }
    }
    return !cancelled.isEmpty
  }

  /// Records that a task of this priority awaits the promise, and raises the work of all that it
  /// depends on.
  ///
  /// Takes time proportional to the number of promises that were not awaited with this priority
  /// before.
  func escalate(to priority: TaskPriority) {
    var frontier = TinyArray(self)
    while let core = frontier.popLast() {
      guard let found = core.withLock({ $0.escalate(to: priority.rawValue) }) else { continue }
      found.waiting.forEach { $0.escalateStep(to: priority) }
      found.worker?.escalate(to: priority)
      found.upstream?.sources(of: core).forEach { source, _ in frontier.append(source) }
    }
  }

  /// As `escalate`, if the priority is known.
  func escalate(to priority: UInt8) {
    if priority > 0 { escalate(to: TaskPriority(rawValue: priority)) }
  }

  /// Withdraws a reaction from this promise.
  ///
  /// - Returns: Whether the reaction was still listed.
  func withdraw(_ reaction: Reaction, cancelling: Bool, for scopes: [WorkScope] = []) -> Bool {
    let (wasThere, isUnwanted) = withLock { $0.withdraw(reaction) }
    if isUnwanted && cancelling { cancel(for: scopes) }
    return wasThere
  }

  /// Gives up this promise, which a handler or a sequence has returned: marks its failure as
  /// handled and, if requested, cancels it unless something else wants its outcome.
  ///
  /// Joins the scopes first, because it may not be cancelable, and nothing else waits for its work.
  func abandon(cancelling: Bool, for scopes: [WorkScope]) {
    join(scopes)
    let placeholder = Reaction()
    attach(placeholder)
    _ = withdraw(placeholder, cancelling: cancelling, for: scopes)
  }
}
