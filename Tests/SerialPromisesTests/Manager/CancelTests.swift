import TestSupport
import Testing

@testable import SerialPromises

/// Handles, and cancellation with and without a grace period.
struct CancelTests {
  // Fails if a state is not recorded, or the id is not the number of the addition.
  @Test("a handle has the id, name, state and outcome of its step", .shows(Managing.handles))
  func handle() async {
    let (manager, taken) = (PromiseManager(), Taken())
    let first = manager.add(Step("one", taken.handler))
    let second = manager.add { then in then(Failed()) }
    #expect((first.id, first.name ?? "") == (1, "one"))
    #expect((second.id, second.name) == (2, nil))
    #expect([first, second].map { text($0.state) } == ["running", "waiting"])
    taken.call()
    #expect(text(await first.outcome) == "succeeded")
    #expect(text(await second.outcome) == "failed Failed(number: 0)")
  }

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
    await clock.slept.passed()
    clock.advance(by: .seconds(4))
    #expect(text(first.state) == "running")
    clock.advance(by: .seconds(1))
    #expect(text(await first.outcome) == "cancelled")
    #expect(text(await second.outcome) == "succeeded")
    taken.call()
    #expect(reports.all == [.thenCalledLate(StepIdentity(id: 1, name: "stubborn"))])
    taken.call()
    #expect(reports.all.last == .thenCalledAgain(StepIdentity(id: 1, name: "stubborn")))
  }
}
