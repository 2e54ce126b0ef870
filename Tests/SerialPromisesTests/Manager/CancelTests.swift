import TestSupport
import Testing

@testable import SerialPromises

/// Handles, and cancellation with and without a grace period.
struct CancelTests {
  // Fails if the running step is not notified, is notified twice, or ends without its `then`.
  @Test(
    "a running step that is canceled is notified once, and ends when it calls then",
    .shows(Managing.cancelRunning))
  func running() {
    let (manager, taken, log) = (PromiseManager(), Taken(), Log<String>())
    let handle = manager.add(taken.handler)
    _ = taken.with { then in
      then.onCancel { log.append("notified") }
      then.onCancel { log.append("notified too") }
      #expect(!then.isCancelled)
      handle.cancel()
      handle.cancel()
      #expect(then.isCancelled)
      then.onCancel { log.append("notified late") }
    }
    #expect(log.all == ["notified", "notified too", "notified late"])
    #expect(text(handle.state) == "running")
    taken.call(CancellationError())
    #expect(text(handle.state) == "cancelled")
    #expect(taken.with(\.isCancelled) == false)
  }

  // Fails if the grace period does not end the step, or its late `then` takes effect.
  @Test(
    "a step that exceeds its grace period is ended, and its late then is reported",
    .shows(Managing.grace))
  func grace() async {
    let (reports, clock, taken) = (Reports(), ManualClock(), Taken())
    let manager = PromiseManager(diagnostics: reports.place)
    let first = manager.add(Step("stubborn", taken.handler))
    let second = manager.add { then in then() }
    first.cancel(grace: .seconds(5), clock: clock)
    await clock.elapse(.seconds(4))
    #expect(text(first.state) == "running")
    clock.advance(by: .seconds(1))
    #expect(text(await first.outcome) == "cancelled")
    #expect(text(await second.outcome) == "succeeded")
    taken.call()
    #expect(reports.all == [.thenCalledLate(StepIdentity(id: 1, name: "stubborn"))])
    taken.call()
    #expect(reports.all.last == .thenCalledAgain(StepIdentity(id: 1, name: "stubborn")))
  }

  enum Failing: CaseIterable { case closure, dropped, promise, run, enqueue, turn }

  // Fails if only a `CancellationError` makes the step a canceled one: the next step stays in a
  // stopped queue, or is canceled, `run` throws the error of its work, or a failure is reported.
  @Test(
    "a canceled step that ends with an error of its own has not failed",
    .shows(Managing.cancelRunning), arguments: Failing.allCases, [FailurePolicy.stop, .cancelRest])
  func ownError(_ way: Failing, _ policy: FailurePolicy) async {
    let (reports, taken, code) = (Reports(), Taken(), HeldCode())
    let deferred = Locked<Deferred<Int>?>(nil)
    let manager = PromiseManager(onFailure: policy, diagnostics: reports.place)
    let work = { @Sendable () async throws -> Int in
      await code()
      throw Failed()
    }
    var step: StepHandle?
    var task: Task<Int, any Error>?
    switch way {
    case .closure, .dropped: step = manager.add(taken.handler)
    case .promise:
      let body = { @Sendable (new: Deferred<Int>) in deferred.withLock { $0 = new } }
      step = manager.add(Promise<Int>(diagnostics: reports.place, body))
    case .run: task = Task { try await manager.run(nil, work) }
    case .enqueue: task = Task { try await manager.enqueue(nil, work).value }
    case .turn: task = Task { try await manager.withTurn(nil) { try await work() } }
    }
    if task != nil { await code.begun.passed() }
    if way == .turn { task?.cancel() } else { manager.cancelAll() }
    let next = manager.add { then in then() }
    switch way {
    case .closure: taken.call(Failed())
    case .dropped: taken.drop()
    case .promise: deferred.withLock { $0.take() }?.fail(Failed())
    case .run, .enqueue, .turn: code.proceed.open()
    }
    #expect(text(await next.outcome) == "succeeded")
    #expect(manager.failure == nil)
    if let step { #expect(text(step.state) == "cancelled") }
    if let task {
      switch await task.result {
      case .failure(is CancellationError): #expect(way != .turn)
      // The code of a turn, which its caller has canceled, throws to that caller.
      case .failure(is Failed): #expect(way == .turn)
      case .failure, .success: Issue.record("another result")
      }
    }
    #expect(reports.all.isEmpty)
  }
}
