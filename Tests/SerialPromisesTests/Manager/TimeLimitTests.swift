import TestSupport
import Testing

@testable import SerialPromises

/// The time limit that a manager sets for each of its steps.
struct TimeLimitTests {
  private let clock = ManualClock()
  private let reports = Reports()
  private let late = "failed not done within 5.0 seconds; the work may still be running"

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

  // Fails if one of the two limits replaces the other.
  @Test("a step may have its own time limit as well: the first one to elapse takes effect")
  func both() async {
    let (manager, first, second) = (manager, Taken(), Taken())
    let sooner = manager.add(Step(nil, first.handler).timeout(.seconds(2), clock: clock))
    let later = manager.add(Step(nil, second.handler).timeout(.seconds(9), clock: clock))
    while clock.sleepers < 2 { await Task.yield() }
    clock.advance(by: .seconds(2))
    #expect(text(await sooner.outcome).contains("within 2.0 seconds"))
    first.call()
    await second.gate.passed()
    while clock.sleepers != 2 { await Task.yield() }
    clock.advance(by: .seconds(5))
    #expect(text(await later.outcome) == late)
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

  // Fails if a clock that throws leaves the step without a limit.
  @Test("a time limit that the clock cannot measure counts as elapsed")
  func brokenClock() async {
    let (manager, taken) = (PromiseManager(timeLimit: .seconds(5), clock: BrokenClock()), Taken())
    let handle = manager.add(taken.handler)
    #expect(text(await handle.outcome) == "failed Failed(number: 7)")
    taken.drop()
  }
}

/// A clock that stands still, and throws instead of sleeping.
struct BrokenClock: Clock {
  let now = ContinuousClock.now
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    throw Failed(number: 7)
  }
}
