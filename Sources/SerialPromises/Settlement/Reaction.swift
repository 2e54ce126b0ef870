import Dispatch

/// Something that happens when a promise is settled: a node in the promise's list.
///
/// Sendable because everything mutable here is touched by one thread at a time: under the lock of
/// the promise in whose list the node is, or by the thread that took it out.
class Reaction: @unchecked Sendable {
  /// The next one in the list.
  fileprivate var next: Reaction?

  /// The one before or, for the first one, the last; nil in no list.
  ///
  /// Not counted: the list holds all of them.
  fileprivate unowned(unsafe) var previous: Reaction?

  /// Whether this waits in the list of a promise; to be asked under the lock of that promise.
  var isListed: Bool { previous != nil }

  /// Whether this runs none of the user's code, so that the settling thread may do it at once.
  var isImmediate: Bool { true }

  /// Whether this is a handler of the user's that makes no new promise.
  var isCallback: Bool { false }

  /// Whether this handles a failure or passes it on.
  var handlesFailures: Bool { true }

  /// The promise is settled.
  func react(to source: Core, _ agenda: inout Agenda) {}

  /// Called instead of `react`, by the thread that removed this from its list.
  func discard() {}

  /// Whether this has something to do when the promise comes further.
  var passesProgress: Bool { true }

  /// The promise has come as far as `fraction`.
  func progressed(_ fraction: Double, _ front: inout ProgressFront) {}

  /// The promise that hangs on this one.
  var target: Core? { nil }

  /// Whether only this reaction, directly or indirectly, settles the target.
  var isExclusive: Bool { true }

  /// The source will never be settled.
  ///
  /// - Returns: Whether the target will not be either.
  func sourceIsLost() -> Bool { true }

  /// What the source's progress counts at the target.
  var share: ProgressShare { ProgressShare() }

  /// The queue that has to be free for the target to be settled.
  var blockedQueue: DispatchQueue? { nil }

  /// How to wait for another source in the same way; nil if what happens here happens once.
  ///
  /// Must be asked before this reaction has run.
  var recipe: (@Sendable (AnyPromise) -> AnyPromise)? { nil }
}

/// Reactions in the order of attaching.
///
/// A list of nodes, and not an array, so that most promises, which have one reaction, need none,
/// and so that withdrawing one of many takes constant time.
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
    // Moved, not copied: for most promises this is all that happens.
    guard let reaction = first.take() else { return nil }
    if let next = reaction.next.take() {
      next.previous = reaction.previous
      first = next
    }
    reaction.previous = nil
    return reaction
  }

  /// Takes a reaction out, wherever it is.
  ///
  /// - Returns: Whether it was there.
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

  /// Takes out those that fulfill a condition, in their order.
  mutating func takeAll(where condition: (Reaction) -> Bool) -> DueList {
    var taken = DueList()
    var reaction = first
    while let current = reaction {
      reaction = current.next
      if condition(current) {
        remove(current)
        taken.append(current)
      }
    }
    return taken
  }

  /// The promises that hang on this list's; nil if it has more than `limit` reactions.
  func targets(limit: Int) -> [Core]? {
    var targets: [Core] = []
    var (reaction, left) = (first, limit)
    while let current = reaction {
      guard left > 0 else { return nil }
      left -= 1
      if let target = current.target { targets.append(target) }
      reaction = current.next
    }
    return targets
  }

  func contains(where condition: (Reaction) -> Bool) -> Bool {
    var reaction = first
    while let current = reaction {
      if condition(current) { return true }
      reaction = current.next
    }
    return false
  }

  /// The reactions as they stand now.
  func forEach(_ body: (Reaction) -> Void) {
    var reaction = first
    while let current = reaction {
      reaction = current.next
      body(current)
    }
  }
}

/// Reactions that a thread has taken out, to run them in their order.
///
/// Another kind of list, because withdrawing one of these has to find that it is too late: they have
/// no `previous`.
struct DueList {
  private var first: Reaction?
  // Not counted: reached from `first`.
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

/// What a settling thread has still to do: reactions that run none of the user's code.
///
/// A list instead of recursion, so that promises that settle one another take constant stack.
struct Agenda {
  private var source: Core?
  private var due = DueList()

  // Used only when one settlement settles several.
  private var later = Fifo<(Core, DueList)>()

  /// Appends what is due because `source` is settled.
  mutating func append(_ reactions: DueList, of source: Core) {
    if due.isEmpty && later.isEmpty {
      self.source = source
      due = reactions
    } else {
      later.append((source, reactions))
    }
  }

  /// Does everything that is there, and what comes from it.
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
