// A promise that waits for itself, through whatever others, would never be settled. Only `adopt`, and
// `when(concurrently:)` when it pulls, make a promise wait for one that is older; they ask here.

extension Core {
  /// Whether this promise waits for `other`, directly or through others.
  ///
  /// To be asked when `other` has been made to wait for this one, and both can be seen to: of several
  /// threads that close one cycle together, the last one then sees all of it.
  ///
  /// Takes time in proportion to what this waits for or to what waits for `other`, whichever is less:
  /// so a promise that is resolved with one of its own, again and again, costs nothing but its links.
  func waits(for other: Core) -> Bool {
    // A promise that a handler has just made waits for little: no set is needed.
    var core = self
    for _ in 0..<8 {
      switch core.sources {
      case nil: return false
      case .many: return search(for: other)
      case .one(let source, _):
        if source === other { return true }
        core = source
      }
    }
    return search(for: other)
  }

  private func search(for other: Core) -> Bool {
    var limit = 16
    while true {
      // Each from its beginning: together they take no more than twice as long as the last ones.
      if let isFound = Self.walk(from: self, to: other, limit, { $0.sourceCores(limit: $1) }) {
        return isFound
      }
      if let isFound = Self.walk(from: other, to: self, limit, { $0.targets(limit: $1) }) {
        return isFound
      }
      limit *= 2
    }
  }

  // `next` gives the promises one step on, or nil if there are more than it may look at. Nil if it
  // takes more than `limit` steps to find out.
  private static func walk(
    from first: Core, to last: Core, _ limit: Int, _ next: (Core, Int) -> [Core]?
  ) -> Bool? {
    // Kept, or another promise could take the place of one that goes away meanwhile.
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

  /// What this promise waits for.
  private func sourceCores(limit: Int) -> [Core]? {
    switch sources {
    case nil: return []
    case .one(let source, _): return limit > 0 ? [source] : nil
    case .many(let junction):
      guard junction.sources.count <= limit else { return nil }
      var cores: [Core] = []
      junction.forEachSource { core, _ in cores.append(core) }
      return cores.count <= limit ? cores : nil
    }
  }

  /// What waits for this promise.
  private func targets(limit: Int) -> [Core]? {
    withLock { $0.targets(limit: limit) }
  }
}
