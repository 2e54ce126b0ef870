import Dispatch

/// Something that happens when a promise is settled: a node in the promise's list.
///
/// Sendable because everything mutable here is touched by one thread at a time: under the lock of
/// the promise in whose list the node is, or by the thread that took it out.
class Reaction: @unchecked Sendable {
  /// The next one in the list, or on the agenda.
  fileprivate var next: Reaction?

  /// The one before, so that leaving a list takes constant time.
  ///
  /// Not counted: the one before holds this one, so it is there as long as this one is listed.
  fileprivate unowned(unsafe) var previous: Reaction?

  /// The promise that was settled, while this is on an agenda.
  fileprivate var source: AnyCore?

  fileprivate(set) var isListed = false

  /// Whether this runs none of the user's code, so that the settling thread may do it at once.
  var isImmediate: Bool { true }

  /// Whether a failure is dealt with, or handed on, here.
  var looksAtFailures: Bool { true }

  /// The promise is settled.
  func react(to source: AnyCore, _ agenda: inout Agenda) {}

  /// The promise has come as far as `fraction`.
  func progressed(_ fraction: Double, _ front: inout ProgressFront) {}

  /// The promise that hangs on this one.
  var target: AnyCore? { nil }

  /// Whether the target is settled by this, or because of this, only.
  var isOnlyWay: Bool { true }

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
  // Not counted: reached from `first`.
  private unowned(unsafe) var last: Reaction?

  var isEmpty: Bool { first == nil }

  mutating func append(_ reaction: Reaction) {
    reaction.isListed = true
    reaction.previous = last
    if let last { last.next = reaction } else { first = reaction }
    last = reaction
  }

  mutating func popFirst() -> Reaction? {
    guard let reaction = first else { return nil }
    remove(reaction)
    return reaction
  }

  /// Takes a reaction out, wherever it is.
  ///
  /// - Returns: Whether it was there.
  @discardableResult
  mutating func remove(_ reaction: Reaction) -> Bool {
    guard reaction.isListed else { return false }
    let next = reaction.next.take()
    next?.previous = reaction.previous
    if last === reaction { last = reaction.previous }
    if let previous = reaction.previous { previous.next = next } else { first = next }
    reaction.previous = nil
    reaction.isListed = false
    return true
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

/// What a settling thread has still to do: reactions that run none of the user's code.
///
/// A list instead of recursion, so that promises that settle one another take constant stack.
struct Agenda {
  private var first: Reaction?
  // Not counted: reached from `first`.
  private unowned(unsafe) var last: Reaction?

  /// Appends a reaction that is in no list.
  mutating func append(_ reaction: Reaction, of source: AnyCore) {
    reaction.source = source
    if let last { last.next = reaction } else { first = reaction }
    last = reaction
  }

  /// Does everything that is there, and what comes from it.
  mutating func run() {
    while let reaction = first {
      first = reaction.next.take()
      if first == nil { last = nil }
      if let source = reaction.source.take() { reaction.react(to: source, &self) }
    }
  }
}
