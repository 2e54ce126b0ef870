/// An action that runs when a promise is settled: a node of the promise's list.
///
/// Accessed by one thread at a time: under the lock of the promise that lists the node, or by the
/// thread that removed it.
class Reaction {
  /// The next node of the list.
  fileprivate var next: Reaction?

  /// The previous node or, for the first node, the last; nil in no list.
  ///
  /// Unowned: the list retains its nodes.
  fileprivate unowned(unsafe) var previous: Reaction?

  /// Whether a promise lists this node.
  ///
  /// Requires the lock of that promise.
  var isListed: Bool { previous != nil }

  /// Whether this runs no user code, so that the settling thread may run it immediately.
  var isImmediate: Bool { true }

  /// Whether this passes the outcome to a promise that was resolved with the source.
  var isAdoption: Bool { false }

  /// Whether this is a user's handler that creates no promise.
  var isCallback: Bool { false }

  /// Whether this only ends a step.
  var endsStep: Bool { false }

  /// Whether this handles a failure or passes it on.
  var handlesFailures: Bool { true }

  /// Runs after the promise has been settled.
  func react(to source: Core, _ agenda: inout Agenda) {}

  /// Called instead of `react`, by the thread that removed this from its list.
  func discard() {}

  /// Whether this propagates progress.
  var passesProgress: Bool { true }

  /// Propagates the progress of the promise.
  func progressed(_ fraction: Double, _ front: inout ProgressFront) {}

  /// The promise that depends on the source.
  var target: Core? { nil }

  /// Whether only this reaction, directly or indirectly, settles the target.
  var isExclusive: Bool { true }

  /// Records that the source will never be settled.
  ///
  /// - Returns: Whether the target cannot be settled either.
  func sourceIsLost() -> Bool { true }

  /// The contribution of the source's progress to the target's.
  var share: ProgressShare { ProgressShare() }

  /// Creates the same reaction to another source; nil if this cannot be repeated.
  ///
  /// Must be read before this reaction runs.
  var recipe: Restart.Make? { nil }
}

/// The reactions of a promise in the order of attachment.
///
/// An intrusive list: most promises have one reaction and need no array, and a removal takes
/// constant time.
struct ReactionList {
  private(set) var first: Reaction?

  var isEmpty: Bool { first == nil }

  mutating func append(_ reaction: Reaction) {
    if let first, let last = first.previous {
      last.next = reaction
      reaction.previous = last
      first.previous = reaction
    } else {
      first = reaction
      reaction.previous = reaction
    }
  }

  mutating func popFirst() -> Reaction? {
    // Moved, not copied: the common case is a single reaction.
    guard let reaction = first.take() else { return nil }
    if let next = reaction.next.take() {
      next.previous = reaction.previous
      first = next
    }
    reaction.previous = nil
    return reaction
  }

  /// Removes a reaction from any position.
  ///
  /// - Returns: Whether it was in the list.
  @discardableResult
  mutating func remove(_ reaction: Reaction) -> Bool {
    guard let previous = reaction.previous else { return false }
    let next = reaction.next
    reaction.next = nil
    if reaction === first {
      first = next
      next?.previous = previous
    } else {
      previous.next = next
      (next ?? first)?.previous = previous
    }
    reaction.previous = nil
    return true
  }

  /// Removes the reactions that satisfy a condition, in order.
  mutating func takeAll(where condition: (Reaction) -> Bool) -> DueList {
    var taken = DueList()
    for reaction in self where condition(reaction) {
      remove(reaction)
      taken.append(reaction)
    }
    return taken
  }

  /// The dependents in this list; nil if it has more than `limit` reactions.
  func targets(limit: Int) -> [Core]? {
    var targets: [Core] = []
    for (index, reaction) in enumerated() {
      guard index < limit else { return nil }
      if let target = reaction.target { targets.append(target) }
    }
    return targets
  }
}

/// The loop may remove the current reaction.
extension ReactionList: Sequence {
  struct Iterator: IteratorProtocol {
    fileprivate var rest: Reaction?

    mutating func next() -> Reaction? {
      guard let reaction = rest else { return nil }
      rest = reaction.next
      return reaction
    }
  }

  func makeIterator() -> Iterator { Iterator(rest: first) }
}

/// Removed reactions that a thread is going to run, in order.
///
/// They have no `previous` node, so that a withdrawal detects that it is too late.
struct DueList {
  private var first: Reaction?
  // Unowned: reachable from `first`.
  private unowned(unsafe) var last: Reaction?

  var isEmpty: Bool { first == nil }

  /// Appends a reaction that is in no list.
  mutating func append(_ reaction: Reaction) {
    if let last { last.next = reaction } else { first = reaction }
    last = reaction
  }

  mutating func popFirst() -> Reaction? {
    guard let reaction = first.take() else { return nil }
    first = reaction.next.take()
    if first == nil { last = nil }
    return reaction
  }
}

/// The pending reactions of a settling thread; they run no user code.
///
/// Iterative, so that promises that settle each other use constant stack.
struct Agenda {
  private var source: Core?
  private var due = DueList()

  // Used only if one settlement settles several promises.
  private var later = Fifo<(Core, DueList)>()

  /// Appends the reactions to the settlement of `source`.
  mutating func append(_ reactions: DueList, of source: Core) {
    if due.isEmpty && later.isEmpty {
      self.source = source
      due = reactions
    } else {
      later.append((source, reactions))
    }
  }

  /// Runs the reactions that `body` appends.
  @inline(__always)
  static func run<Result>(_ body: (inout Agenda) -> Result) -> Result {
    var agenda = Agenda()
    defer { agenda.run() }
    return body(&agenda)
  }

  /// Runs all pending reactions, including those that they cause.
  mutating func run() {
    while true {
      if let source, let reaction = due.popFirst() {
        reaction.react(to: source, &self)
      } else if let (core, reactions) = later.popFirst() {
        source = core
        due = reactions
      } else {
        return
      }
    }
  }
}
