// Cycle detection. A promise that depends on itself, directly or through others, would never be
// settled. Only `adopt`, and `when(concurrently:)` when it pulls, make a promise depend on an older
// one; both check here.

extension Core {
  /// Whether this promise depends on `other`, directly or through others.
  ///
  /// Call this after `other` was made to depend on this promise and both are visible. If several
  /// threads close a cycle together, the last one then sees all of it.
  ///
  /// Complexity: proportional to the smaller of two sets, the dependencies of this promise and the
  /// dependents of `other`. A promise that is repeatedly resolved with new ones therefore costs
  /// only its links.
  func waits(for other: Core) -> Bool {
    // A promise that a handler has just created has few dependencies: no set is needed.
    var core = self
    for _ in 0..<8 {
      switch core.sources {
      case nil: return false
      case .many: return search(for: other)
      case .one(let source, _, _):
        if source === other { return true }
        core = source
      }
    }
    return search(for: other)
  }

  private func search(for other: Core) -> Bool {
    var limit = 16
    while true {
      // Each walk starts over. In total they take at most twice as long as the last two.
      let sources = { (core: Core, limit: Int) in core.sourceCores(limit: limit) }
      if let isFound = Self.walk(from: self, to: other, limit, sources) { return isFound }
      let targets = { (core: Core, limit: Int) in core.withLock { $0.targets(limit: limit) } }
      if let isFound = Self.walk(from: other, to: self, limit, targets) { return isFound }
      limit *= 2
    }
  }

  // `next` returns the adjacent promises, or nil if there are more than its limit. The result is
  // nil if the walk exceeds `limit` promises.
  private static func walk(
    from first: Core, to last: Core, _ limit: Int, _ next: (Core, Int) -> [Core]?
  ) -> Bool? {
    // Retains the promises, so that no other one reuses the address of a released one.
    var seen: [ObjectIdentifier: Core] = [:]
    var frontier = [first]
    var left = limit
    while let core = frontier.popLast() {
      guard let found = next(core, left) else { return nil }
      left -= found.count
      for core in found where seen.updateValue(core, forKey: ObjectIdentifier(core)) == nil {
        if core === last { return true }
        frontier.append(core)
      }
    }
    return false
  }

  /// The promises that this one depends on.
  private func sourceCores(limit: Int) -> [Core]? {
    switch sources {
    case nil: return []
    case .one(let source, _, _): return limit > 0 ? [source] : nil
    case .many(let junction):
      guard junction.sources.count <= limit else { return nil }
      var cores: [Core] = []
      junction.forEachSource { core, _ in cores.append(core) }
      return cores.count <= limit ? cores : nil
    }
  }
}
