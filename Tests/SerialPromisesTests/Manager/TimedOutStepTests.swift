import TestSupport
import Testing

@testable import SerialPromises

/// Steps that exceed their time limit, and still run.
struct TimedOutStepTests {
  private let clock = ManualClock()
  private let reports = Reports()
  private let log = Log<String>()
  private let limit = Duration.milliseconds(20)
  private var late: String { "failed \(PromiseError.timedOut(limit))" }

  private func manager(
    _ policy: FailurePolicy = .continue, abandoning: Bool = false
  ) -> PromiseManager {
    PromiseManager(
      onFailure: policy, timeLimit: limit, abandoning: abandoning, clock: clock,
      diagnostics: reports.place)
  }

  /// Waits until as many steps have a limit, and lets it pass.
  private func exceed() async {
    await clock.waitForSleeper()
    clock.advance(by: limit)
  }

  private func isTimedOut(_ diagnostic: Diagnostic) -> Bool {
    if case .timedOut = diagnostic { true } else { false }
  }

  // Fails if the next step starts while the one that timed out runs, if its listeners wait for its
  // `then`, or if the diagnostic is missing or repeated.
  @Test(
    "of three steps that exceed their limit, never two run at once",
    .shows(Managing.neverTwo, Managing.timeout), arguments: [true, false])
  func neverTwo(_ isManagers: Bool) async {
    let manager = isManagers ? manager() : PromiseManager(diagnostics: reports.place)
    let running = Locked(0)
    let taken = (0..<3).map { _ in Taken() }
    let steps = taken.enumerated().map { index, taken in
      let handler = taken.handler
      let step = Step("\(index)") { then in
        #expect(
          running.withLock {
            $0 += 1; return $0
          } == 1)
        then.onCancel { [log] in log.append("canceled \(index)") }
        handler(then)
      }
      return isManagers ? manager.add(step) : manager.add(step.timeout(limit, clock: clock))
    }
    for index in 0..<3 {
      await taken[index].gate.passed()
      await exceed()
      #expect(text(await steps[index].outcome) == late)
      #expect(text(steps[index].state) == late)
      #expect(log.all.last == "canceled \(index)")
      #expect(await eventually { reports.all.count(where: isTimedOut) == index + 1 })
      // The queue waits for its `then`.
      #expect(manager.runningStep?.name == "\(index)" && !manager.isIdle)
      #expect(manager.waitingCount == 2 - index)
      if index < 2 { #expect(!taken[index + 1].gate.isOpen) }
      running.withLock { $0 -= 1 }
      taken[index].call()
      taken[index].drop()
    }
    await manager.idle()
    #expect(reports.all.count(where: isTimedOut) == 3 && reports.all.count == 3)
  }

  // Hangs if the queue waits for `then`; fails if a late `then` is not reported.
  @Test(
    "with abandoning, the queue moves on when the limit passes", .shows(Managing.lateThen),
    arguments: [true, false])
  func abandoning(_ isManagers: Bool) async {
    let manager =
      isManagers ? manager(abandoning: true) : PromiseManager(diagnostics: reports.place)
    let taken = Taken()
    let slow = Step("slow", taken.handler)
    let step = manager.add(
      isManagers ? slow : slow.timeout(limit, abandoning: true, clock: clock))
    let next = manager.add { then in then() }
    await exceed()
    #expect(text(await step.outcome) == late)
    #expect(text(await next.outcome) == "succeeded")
    await manager.idle()
    taken.call()
    #expect(reports.all == [.thenCalledLate(StepIdentity(id: 1, name: "slow"))])
  }

  // Hangs if a grace period does not end a step that has timed out.
  @Test(
    "a grace period frees the queue of a step that timed out", .shows(Managing.grace),
    arguments: [true, false])
  func grace(_ isAll: Bool) async {
    let (manager, taken) = (manager(), Taken())
    let step = manager.add("slow", taken.handler)
    await exceed()
    #expect(text(await step.outcome) == late)
    if isAll {
      manager.cancelAll(grace: .seconds(1), clock: clock)
    } else {
      step.cancel(grace: .seconds(1), clock: clock)
    }
    let next = manager.add { then in then() }
    #expect(text(next.state) == "waiting")
    await clock.waitForSleeper()
    clock.advance(by: .seconds(1))
    #expect(text(await next.outcome) == "succeeded")
    #expect(text(step.state) == late)
    await manager.idle()
    taken.drop()
  }

  // Fails if the caller waits for the end of the work, or the queue does not; if the caller gets
  // the cancellation caused by the limit; or if the late end of the work, which the library
  // canceled, is reported.
  @Test(
    "the callers of run and enqueue, and a promise's handle, are answered when the limit passes",
    .shows(Managing.timeout), arguments: ["run", "enqueue", "promise"], [false, true])
  func work(_ way: String, heedsCancel: Bool) async {
    let (manager, gate, begun, answer) = (manager(), Gate(), Gate(), Log<String>())
    let work = { @Sendable () async throws -> Int in
      begun.open()
      guard heedsCancel else {
        await gate.passed()
        return 1
      }
      await withTaskCancellation()
      throw CancellationError()
    }
    let caller = Task {
      switch way {
      case "run":
        do { answer.append("\(try await manager.run { try await work() })") } catch {
          answer.append("failed \(error)")
        }
      case "enqueue": answer.append(await manager.enqueue { try await work() }.outcome)
      default: answer.append(text(await manager.add(Promise<Int> { try await work() }).outcome))
      }
    }
    await begun.passed()
    let next = manager.add { then in then() }
    await exceed()
    await caller.value
    #expect(answer.all == [late])
    if !heedsCancel { #expect(text(next.state) == "waiting" && !manager.isIdle) }
    gate.open()
    #expect(text(await next.outcome) == "succeeded")
    await manager.idle()
    #expect(reports.all.allSatisfy(isTimedOut))
  }

  // Fails if the policy is applied at the `then`, or a second time then.
  @Test(
    "the failure policy is applied when the limit passes", .shows(Managing.policies),
    arguments: [true, false])
  func policies(_ stops: Bool) async {
    let (manager, taken) = (manager(stops ? .stop : .cancelRest), Taken())
    let step = manager.add("slow", taken.handler)
    let next = manager.add { then in then() }
    await exceed()
    #expect(text(await step.outcome) == late)
    let later = manager.add { then in then() }
    if stops {
      #expect(manager.isPaused && manager.failure as? PromiseError == .timedOut(limit))
      taken.call()
      #expect(text(next.state) == "waiting")
      manager.resume()
      #expect(text(await next.outcome) == "succeeded")
    } else {
      #expect(text(next.state) == "cancelled" && text(later.state) == "waiting")
      taken.call()
    }
    #expect(text(await later.outcome) == "succeeded")
    #expect(manager.failure == nil)
  }
}
