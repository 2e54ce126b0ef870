import Dispatch

/// Runs the handlers of promises one after another on a thread.
///
/// A promise that a handler settles waits in the trampoline's list until the handler returns, so
/// that a chain needs one trampoline and constant stack. A promise that is settled elsewhere gets a
/// trampoline on a global queue, off the settling code's stack.
final class Trampoline: @unchecked Sendable {
  // Sendable because it is made by one thread, and then used by another only.

  private static let slot = ThreadLocal<Trampoline>()

  /// The calling thread's trampoline.
  static var current: Trampoline? { slot.current }

  /// The link whose handler the calling thread runs on a dispatch queue, outside a trampoline.
  static let onQueue = ThreadLocal<Reaction>()

  /// The promise whose handlers run.
  private(set) var running: ObjectIdentifier?

  /// The reaction whose handler runs, and whether it only ends a step.
  var runningReaction: (id: ObjectIdentifier, endsStep: Bool)?

  // Unchecked because only one thread uses it.

  @exclusivity(unchecked) private var waiting: Fifo<Core>

  /// The manager whose next step runs after this, on the same thread: transfers the claim.
  @exclusivity(unchecked) var manager: (any StepRunner)?

  /// Schedules a drain of a promise.
  ///
  /// Requires the claim of that drain.
  static func schedule(_ core: Core) {
    if let current { return current.waiting.append(core) }
    var waiting = Fifo<Core>()
    waiting.append(core)
    begin(with: waiting)
  }

  private static func begin(with waiting: Fifo<Core>) {
    // Before the block, which would retain the promises until its end.
    let trampoline = Trampoline(waiting)
    DispatchQueue.global().async {
      slot.with(trampoline) { trampoline.run() }
      trampoline.manager.take()?.continueTurn()
    }
  }

  private init(_ waiting: Fifo<Core>) {
    self.waiting = waiting
  }

  /// Transfers the waiting promises to another thread, because this one is about to block.
  func handOver() {
    guard !waiting.isEmpty else { return }
    Self.begin(with: waiting)
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
