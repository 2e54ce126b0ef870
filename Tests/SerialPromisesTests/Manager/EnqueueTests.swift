import Foundation
import TestSupport
import Testing

@testable import SerialPromises

/// Asynchronous work enqueued by synchronous code.
struct EnqueueTests {
  private let reports = Reports()
  private var manager: PromiseManager { PromiseManager(diagnostics: reports.place) }

  /// How the work of the last step ends.
  enum End: CaseIterable, Sendable { case onItsStack, later, failing, canceled }

  // Fails if the step is over before its promise: settle it after the transition.
  @Test(
    "when a manager is idle, the promises of enqueued work are settled", arguments: End.allCases)
  func settled(_ end: End) async {
    struct Round: Sendable {
      let manager = PromiseManager()
      let promise: Promise<Int>
      let isPending = Log<Bool>()

      init(_ end: End) {
        manager.pause()
        promise = manager.enqueue {
          if end == .later { await Task.yield() }
          if end == .failing { throw Failed() }
          return 1
        }
      }
    }
    await inRounds(isLong ? 50_000 : 1_000 / ease) {
      Round(end)
    } _: { round in
      if end == .canceled { round.manager.cancelWaiting() } else { round.manager.resume() }
    } _: { round in
      while !round.manager.isIdle { sched_yield() }
      if case .pending = round.promise.state { round.isPending.append(true) }
    } fault: { round in
      round.promise.catch { _ in }
      return round.isPending.count > 0 ? "pending" : nil
    }
  }

  // Fails if the task of the work is not canceled, or the next step runs at the same time.
  @Test("canceling the promise of a running step cancels its task")
  func cancelRunning() async {
    let (manager, code, log) = (manager, HeldCode(), Log<String>())
    let promise = manager.enqueue {
      await code()
      log.append("\(Task.isCancelled)")
    }
    let next = manager.enqueue { log.append("next") }
    await code.begun.passed()
    #expect(promise.cancel())
    #expect(text(promise.state) == "failed CancellationError()")
    code.proceed.open()
    #expect(await next.outcome == "()")
    #expect(log.all == ["true", "next"])
  }

  enum Removal: CaseIterable { case promise, cancelAll, manager }

  // Fails if the step of a canceled promise runs or stays in the queue, or a canceled step leaves its
  // promise pending.
  @Test(
    "a promise that is canceled while its step waits, itself, by cancelAll or with its manager, has failed",
    arguments: Removal.allCases)
  func removed(_ removal: Removal) async {
    var manager: PromiseManager? = manager
    let log = Log<String>()
    manager?.pause()
    let promise = manager?.enqueue { log.append("work") }
    switch removal {
    case .promise: promise?.cancel()
    case .cancelAll: manager?.cancelAll()
    case .manager: manager = nil
    }
    #expect(manager?.waitingCount ?? 0 == 0)
    #expect(await promise?.outcome == "failed CancellationError()")
    manager?.resume()
    await manager?.idle()
    #expect(log.all.isEmpty && reports.all.isEmpty)
  }
}
