import TestSupport
import Testing

@testable import SerialPromises

/// The time limit that a manager sets for each of its steps.
struct TimeLimitTests {
  private let clock = ManualClock()
  private let reports = Reports()
  private let late = "failed \(PromiseError.timedOut(.seconds(5)))"

  private var manager: PromiseManager {
    PromiseManager(timeLimit: .seconds(5), clock: clock, diagnostics: reports.place)
  }

  // Fails if the time limit of a step includes its wait, or its timer outlives the step.
  @Test("each step has the full time from its start, and stops its timer if it ends in time")
  func eachStep() async {
    let (manager, first, second) = (manager, Taken(), Taken())
    let handles = [manager.add(first.handler), manager.add(second.handler)]
    await clock.waitForSleeper()
    clock.advance(by: .seconds(4))
    first.call()
    while clock.sleepers != 1 || text(handles[1].state) != "running" { await Task.yield() }
    clock.advance(by: .seconds(4))
    second.call()
    #expect(text(await handles[0].outcome) == "succeeded")
    #expect(text(await handles[1].outcome) == "succeeded")
    while clock.sleepers > 0 { await Task.yield() }
  }

  // Fails if `StepWork` does not report the late end of work that could not be canceled.
  @Test(
    "an abandoned promise that cannot be canceled and ends late is reported",
    arguments: [true, false])
  func latePromise(_ succeeds: Bool) async {
    let manager = PromiseManager(
      timeLimit: .seconds(5), abandoning: true, clock: clock, diagnostics: reports.place)
    let deferred = Deferred<Int>(diagnostics: .silent)
    let handle = manager.add(deferred.promise)
    await clock.waitForSleeper()
    clock.advance(by: .seconds(5))
    #expect(text(await handle.outcome) == late)
    if succeeds { deferred.fulfill(1) } else { deferred.fail(Failed()) }
    while reports.all.isEmpty { await Task.yield() }
    #expect(reports.all == [.thenCalledLate(StepIdentity(id: 1, name: nil))])
    let message = "\(reports.all)"
    #expect(message.contains("a time limit or a grace period ended it"))
    #expect(message.contains("without `abandoning`"))
  }

  // Fails if a way into the manager sets no limit.
  @Test("a step that is added when there is room has the limit")
  func others() async throws {
    let (manager, taken) = (manager, Taken())
    let handle = try await manager.addWhenRoom(nil, taken.handler)
    await clock.waitForSleeper()
    clock.advance(by: .seconds(5))
    #expect(text(await handle.outcome) == late)
  }
}
