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

  /// The promise whose handler runs.
  private(set) var running: Core?

  private var waiting = Fifo<Core>()

  /// Has a promise looked at; only for whoever claimed that.
  static func schedule(_ core: Core) {
    guard let current else {
      var waiting = Fifo<Core>()
      waiting.append(core)
      return begin(with: waiting)
    }
    current.waiting.append(core)
  }

  private static func begin(with waiting: Fifo<Core>) {
    DispatchQueue.global().async {
      let turn = Turn()
      turn.waiting = waiting
      slot.with(turn) { turn.run() }
    }
  }

  /// Has another thread run what waits here, because this one is about to block.
  func handOver() {
    guard !waiting.isEmpty else { return }
    Self.begin(with: waiting)
    waiting = Fifo()
  }

  private func run() {
    while let core = waiting.popFirst() {
      running = core
      core.drain()
    }
    running = nil
  }
}
