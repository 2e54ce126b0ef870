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

  /// The promise whose handlers run.
  private(set) var running: AnyCore?

  /// Whose handler runs.
  var runningReaction: Reaction?

  // The promises that wait, linked by `nextScheduled`.
  private var first: AnyCore?
  private unowned(unsafe) var last: AnyCore?

  /// Has a promise looked at; only for whoever claimed that.
  static func schedule(_ core: AnyCore) {
    if let current { current.append(core) } else { begin(with: core) }
  }

  private static func begin(with core: AnyCore) {
    DispatchQueue.global().async {
      let turn = Turn()
      turn.append(core)
      slot.with(turn) { turn.run() }
    }
  }

  /// Has another thread run what waits here, because this one is about to block.
  func handOver() {
    guard let first = first.take() else { return }
    last = nil
    Self.begin(with: first)
  }

  private func append(_ core: AnyCore) {
    if let last { last.nextScheduled = core } else { first = core }
    // More than one only after a hand-over.
    var end = core
    while let next = end.nextScheduled { end = next }
    last = end
  }

  private func run() {
    while let core = first {
      first = core.nextScheduled.take()
      if first == nil { last = nil }
      running = core
      core.drain(in: self)
      running = nil
      runningReaction = nil
    }
  }
}
