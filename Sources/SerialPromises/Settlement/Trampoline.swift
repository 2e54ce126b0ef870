import Dispatch

/// A trampoline: a thread runs the handlers of one promise after another.
///
/// A promise that is settled by a handler waits in the list until that handler has returned, so a chain
/// needs one trampoline and constant stack. One that is settled elsewhere gets a trampoline on a
/// global queue, after the settling code's stack.
final class Trampoline {
  private static let slot = ThreadLocal<Trampoline>()

  /// The trampoline that the calling thread is in.
  static var current: Trampoline? { slot.current }

  /// The link whose handler the calling thread runs on a dispatch queue, outside of a trampoline.
  static let onQueue = ThreadLocal<Reaction>()

  // Exclusive because one thread has it. What runs is not counted: whoever runs it holds it, and
  // sets this back before letting go of it.

  /// The promise whose handlers run.
  @exclusivity(unchecked) private(set) unowned(unsafe) var running: Core?

  /// Whose handler runs.
  @exclusivity(unchecked) unowned(unsafe) var runningReaction: Reaction?

  // A place of its own for the only one that waits in a plain chain.
  @exclusivity(unchecked) private var first: Core?
  @exclusivity(unchecked) private var later = Fifo<Core>()

  /// Whose next step runs after this, on its thread: the claim is passed on here.
  @exclusivity(unchecked) var manager: (any StepRunner)?

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
      let trampoline = Trampoline()
      trampoline.first = first
      trampoline.later = later
      slot.with(trampoline) { trampoline.run() }
      trampoline.manager.take()?.continueTurn()
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
