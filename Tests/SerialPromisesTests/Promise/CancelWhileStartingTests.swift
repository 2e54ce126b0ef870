import TestSupport
import Testing

@testable import SerialPromises

/// Cancellations at the moment when work starts or is chosen, found by a search from outside.
struct CancelWhileStartingTests {
  // Fails if a cancellation between the start of the work and the registration of its cancel
  // handler has no effect: ignore `isCancellable` in `Settlement.beginCancel`.
  @Test("asynchronous work that is canceled while another thread starts it is canceled")
  func asynchronous() async {
    for _ in 0..<(2_000 / ease) {
      let gate = Gate()
      let promise = Promise<Int> {
        await gate.passed()
        return 1
      }
      let started = Gate()
      onOwnThread {
        promise.start()
        started.open()
      }
      promise.cancel()
      await started.passed()
      #expect(text(promise.state) == "failed CancellationError()")
      gate.open()
    }
  }

  // Fails if a cancellation is lost that comes before the body has registered its cancel handler:
  // ignore `isCancelPending` in `Settlement.started`.
  @Test("a cancellation during the body of a promise takes effect when the body has returned")
  func body() {
    let started = Locked<Promise<Int>?>(nil)
    let promise = Promise<Int> { (deferred: Deferred<Int>) throws in
      #expect(started.withLock { $0 }?.cancel() == false)
      deferred.onCancel { withExtendedLifetime(deferred) {} }
    }
    started.withLock { $0 = promise }
    promise.start()
    #expect(text(promise.state) == "failed CancellationError()")
    started.withLock { $0 = nil }
  }

  // Hangs if a step that waits for a later step of its manager does not end: ignore
  // `deadlockedStep` where a step begins, or where a promise is resolved.
  @Test(
    "a promise of enqueue as an earlier step, or returned by its handler, fails that step",
    .shows(Managing.deadlock), arguments: 0..<6)
  func enqueued(_ way: Int) async {
    for _ in 0..<(200 / ease) {
      let manager = PromiseManager(diagnostics: .silent)
      manager.pause()
      let late = manager.enqueue("late") { 1 }
      let early: Promise<Int> =
        switch way {
        case 0: late.map { $0 + 1 }
        case 1: Promise { 0 }.then { _ in late }
        case 2: Promise.any([.failure(Failed()), late])
        case 3: Promise.race([late])
        case 4: when([late]).map { $0[0] }
        default: when([late], concurrently: 1).map { $0[0] }
        }
      let handle = manager.add(early, at: .first)
      manager.resume()
      #expect(text(await handle.outcome).contains("waits for its own manager"))
      await manager.idle()
      #expect(await late.outcome == "1")
    }
  }

  // Fails if a canceled promise of `enqueue` counts as waiting until it has failed: ignore
  // `isLeaving` or the phase in `Core.deadlock`.
  @Test("a later step may depend on a promise of enqueue that is canceled as its turn comes")
  func canceledSource() async {
    for _ in 0..<(300 / ease) {
      let (manager, taken) = (PromiseManager(diagnostics: .silent), Taken())
      manager.add(taken.handler)
      let first = manager.enqueue { 1 }
      let handle = manager.add(first.recover { _ in 0 })
      await taken.gate.passed()
      let ended = Gate()
      onOwnThread {
        taken.call()
        ended.open()
      }
      first.cancel()
      #expect(text(await handle.outcome) == "succeeded")
      await ended.passed()
    }
  }
}
