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
    let fault = await faultInRounds(isLong ? 50_000 : 1_000 / ease) {
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
    #expect(fault == nil)
  }

  // Fails if the error or the step's failure is lost, or the name of the step.
  @Test("work that throws fails its promise and its step, and is reported if unhandled")
  func failing() async {
    let manager = PromiseManager(onFailure: .stop, diagnostics: reports.place)
    let events = manager.events()
    let promise = manager.enqueue("save") { throw Failed(number: 2) }
    #expect(await promise.outcome == "failed Failed(number: 2)")
    await manager.atRest()
    #expect(manager.failure as? Failed == Failed(number: 2))
    #expect(reports.all.isEmpty)
    manager.resume()
    manager.enqueue("save") { throw Failed(number: 3) }
    await manager.idle()
    for await event in events {
      if case .finished(let step, _, _) = event {
        #expect(step.name == "save")
        if step.id == 2 { break }
      }
    }
    while reports.all.isEmpty { await Task.yield() }
    #expect(reports.all.count == 1 && "\(reports.all)".contains("save"))
  }

  // Fails if a refused step leaves its promise pending, or the refusal is reported twice.
  @Test("a refused step fails its promise with the reason")
  func refused() async throws {
    let full = PromiseManager(capacity: 1, diagnostics: reports.place)
    full.pause()
    full.enqueue {}
    #expect(await full.enqueue { 1 }.outcome == "failed \(PromiseError.full(capacity: 1))")
    full.cancelAll()
    full.close()
    let error = await #expect(throws: PromiseError.self) { try await full.enqueue { 1 }.value }
    #expect(error == .closed)
    #expect(reports.all.isEmpty)
  }

  // Fails if the step of a canceled promise runs, or the promise waits for its turn to fail.
  @Test("canceling the promise removes its waiting step")
  func cancelWaiting() async {
    let (manager, taken, log) = (manager, Taken(), Log<String>())
    manager.add(taken.handler)
    let promise = manager.enqueue { log.append("work") }
    #expect(promise.cancel())
    #expect(manager.waitingCount == 0)
    #expect(text(promise.state) == "failed CancellationError()")
    taken.call()
    await manager.idle()
    #expect(log.all.isEmpty)
  }

  // Fails if the task of the work is not canceled, or the next step runs at the same time.
  @Test("canceling the promise of a running step cancels its task")
  func cancelRunning() async {
    let (manager, begun, proceed, log) = (manager, Gate(), Gate(), Log<String>())
    let promise = manager.enqueue {
      begun.open()
      await proceed.passed()
      log.append("\(Task.isCancelled)")
    }
    let next = manager.enqueue { log.append("next") }
    await begun.passed()
    #expect(promise.cancel())
    #expect(text(promise.state) == "failed CancellationError()")
    proceed.open()
    #expect(await next.outcome == "()")
    #expect(log.all == ["true", "next"])
  }

  // Fails if a canceled step leaves its promise pending.
  @Test("a promise fails if its step is canceled by cancelAll or with its manager")
  func dropped() async {
    var manager: PromiseManager? = manager
    manager?.pause()
    let first = manager?.enqueue { 1 }
    manager?.cancelAll()
    #expect(await first?.outcome == "failed CancellationError()")
    let second = manager?.enqueue { 1 }
    manager = nil
    #expect(await second?.outcome == "failed CancellationError()")
    #expect(reports.all.isEmpty)
  }

  // Fails if the actor of the closure is lost.
  @Test("main-actor work runs on the main actor, and its progress is that of the promise")
  @MainActor
  func mainActor() async throws {
    let label = Label()
    let promise = manager.enqueue { @MainActor in
      label.text = "done"
      return 5
    }
    #expect(try await promise.value == 5)
    #expect(label.text == "done" && promise.progress == 1)
  }

  // Fails if the reference cycle from the promise through its step to the promise is not broken.
  @Test("an enqueued step leaks nothing", arguments: [true, false])
  func nothingLeft(_ isCancelled: Bool) async {
    weak var core: Core?
    weak var captured: Sentinel?
    func work() async {
      let (manager, sentinel) = (manager, Sentinel())
      captured = sentinel
      if isCancelled { manager.pause() }
      let promise = manager.enqueue { sentinel.touch() }
      core = promise.core
      if isCancelled { promise.cancel() }
      _ = await promise.outcome
      await manager.idle()
    }
    await work()
    while captured != nil || core != nil { await Task.yield() }
  }
}
