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

  /// What it is for.
  enum Role {
    /// Passes the outcome to a promise that was resolved with the source.
    case adoption
    /// Calls a user's handler that creates no promise.
    case callback
    /// Only ends a step.
    case stepEnd
    /// The place of a step, which waits for its turn to start the promise.
    case reservation
    case other
  }

  var role: Role { .other }

  /// Whether this handles a failure or passes it on.
  var handlesFailures: Bool { true }

  /// Runs after the promise has been settled.
  func react(to source: Core, _ agenda: inout Agenda) {}

  /// Called instead of `react`, by the thread that removed this from its list.
  func discard() {}

  /// Called without a lock when a task with this priority awaits the promise of a reservation.
  func escalateStep(to priority: TaskPriority) {}

  /// The promise that depends on the source.
  var target: Core? { nil }

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
  mutating func takeAll(where condition: (Reaction) -> Bool) -> TinyArray<Reaction> {
    var taken = TinyArray<Reaction>()
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

/// The pending reactions of a settling thread; they run no user code.
///
/// Iterative, so that promises that settle each other use constant stack.
struct Agenda {
  private var pending = Fifo<(source: Core, reaction: Reaction)>()

  /// Appends a reaction to the settlement of `source`.
  mutating func append(_ reaction: Reaction, of source: Core) {
    pending.append((source, reaction))
  }

  /// Runs the reactions that `body` appends.
  @inline(__always)
  static func run<Result>(_ body: (inout Agenda) -> Result) -> Result {
    var agenda = Agenda()
    defer { agenda.run() }
    return body(&agenda)
  }

  /// Runs all pending reactions, including those that they cause.
  private mutating func run() {
    while let (source, reaction) = pending.popFirst() { reaction.react(to: source, &self) }
  }
}
