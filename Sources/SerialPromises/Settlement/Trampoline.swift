import Dispatch

/// Runs the handlers of promises one after another on a thread.
///
/// A promise that a handler settles waits in the trampoline's list until the handler returns, so
/// that a chain needs one trampoline and constant stack. A promise that is settled elsewhere gets a
/// trampoline on a global queue, off the settling code's stack.
final class Trampoline {
  private static let slot = ThreadLocal<Trampoline>()

  /// The calling thread's trampoline.
  static var current: Trampoline? { slot.current }

  /// The link whose handler the calling thread runs on a dispatch queue, outside a trampoline.
  static let onQueue = ThreadLocal<Reaction>()

  /// The promise whose handlers run.
  private(set) var running: ObjectIdentifier?

  /// The reaction whose handler runs.
  var runningReaction: ObjectIdentifier?

  private var waiting: Fifo<Core>

  private init(_ waiting: Fifo<Core>) {
    self.waiting = waiting
  }

  /// The manager whose next step runs after this, on the same thread: transfers the claim.
  var manager: (any StepRunner)?

  /// Schedules a drain of a promise.
  ///
  /// Requires the claim of that drain.
  static func schedule(_ core: Core) {
    if let current {
      current.waiting.append(core)
    } else {
      begin(Fifo(core))
    }
  }

  private static func begin(_ waiting: Fifo<Core>) {
    DispatchQueue.global().async {
      let trampoline = Trampoline(waiting)
      slot.with(trampoline) { trampoline.run() }
      trampoline.manager.take()?.continueTurn()
    }
  }

  /// Transfers the waiting promises to another thread, because this one is about to block.
  func handOver() {
    if !waiting.isEmpty { Self.begin(waiting) }
    waiting = Fifo()
  }

  private func run() {
    while let core = waiting.popFirst() {
      running = ObjectIdentifier(core)
      core.drain(in: self)
      running = nil
    }
  }
}
