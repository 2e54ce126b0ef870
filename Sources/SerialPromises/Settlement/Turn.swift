import Dispatch

/// A thread's turn at running promises' handlers, one promise after another.
///
/// A promise that is settled by a handler waits in the turn's list until that handler has
/// returned: so a chain needs one turn, and constant stack. One that is settled outside of a turn
/// gets a turn of its own on a global queue, after the settling code's stack.
final class Turn {
  private static let slot = ThreadLocal<Turn>()

  /// The turn that the calling thread is in.
  static var current: Turn? { slot.current }

  /// The link whose handler the calling thread runs on a dispatch queue, outside of a turn.
  static let onQueue = ThreadLocal<Reaction>()

  // Exclusive because one thread has a turn. What runs is not counted: whoever runs it holds it, and
  // sets this back before letting go of it.

  /// The promise whose handlers run.
  @exclusivity(unchecked) private(set) unowned(unsafe) var running: Core?

  /// Whose handler runs.
  @exclusivity(unchecked) unowned(unsafe) var runningReaction: Reaction?

  // A place of its own for the only one that waits in a plain chain.
  @exclusivity(unchecked) private var first: Core?
  @exclusivity(unchecked) private var later = Fifo<Core>()

  /// Whose next step runs after this turn, on its thread: the claim is this turn's to pass on.
  @exclusivity(unchecked) var manager: PromiseManager?

  /// Has a promise looked at; only for whoever claimed that.
  static func schedule(_ core: Core) {
    if let current {
      current.append(core)
    } else {
      begin(with: core, Fifo())
    }
  }

  private static func begin(with first: Core, _ later: Fifo<Core>) {
    DispatchQueue.global().async {
      let turn = Turn()
      turn.first = first
      turn.later = later
      slot.with(turn) { turn.run() }
      turn.manager.take()?.startTurn(.ended)
    }
  }

  private func append(_ core: Core) {
    if first == nil && later.isEmpty { first = core } else { later.append(core) }
  }

  private func popFirst() -> Core? {
    if let core = first.take() { return core }
    return later.popFirst()
  }

  /// Has another thread run what waits here, because this one is about to block.
  func handOver() {
    guard let next = popFirst() else { return }
    Self.begin(with: next, later)
    later = Fifo()
  }

  private func run() {
    while let core = popFirst() {
      running = core
      core.drain(in: self)
      running = nil
    }
  }
}
