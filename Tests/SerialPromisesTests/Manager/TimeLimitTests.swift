import TestSupport
import Testing

@testable import SerialPromises

/// Steps that exceed a time limit: that of their manager, or their own.
struct TimeLimitTests {
  private let clock = ManualClock()
  private let reports = Reports()
  private let log = Log<String>()
  private let limit = Duration.milliseconds(20)
  private let step = StepIdentity(id: 1, name: "code")
  private var late: String { "failed \(PromiseError.timedOut(limit))" }

  private func manager(
    _ policy: FailurePolicy = .continue, abandoning: Bool = false
  ) -> PromiseManager {
    PromiseManager(
      onFailure: policy, timeLimit: limit, abandoning: abandoning, clock: clock,
      diagnostics: reports.place)
  }

  /// A step with a limit.
  enum Limited: CaseIterable, Sendable {
    case closure, ownLimit, whenRoom, handle, run, enqueue, turn, abandoningTurn

    /// Those that another step may overtake.
    static let abandoned = allCases.prefix { $0 != .turn }

    /// Whether only its own code ends the step.
    var isTurn: Bool { self == .turn || self == .abandoningTurn }

    /// Whether its `then` is called by a closure.
    var isClosure: Bool { [.closure, .ownLimit, .whenRoom].contains(self) }
  }

  private func manager(for limited: Limited, abandoning: Bool = false) -> PromiseManager {
    limited == .ownLimit
      ? PromiseManager(diagnostics: reports.place)
      : manager(abandoning: abandoning || limited == .abandoningTurn)
  }

  /// Adds the step; the task returns its outcome, or what its caller gets.
  private func begin(
    _ limited: Limited, on manager: PromiseManager, abandoning: Bool = false,
    _ body: @escaping @Sendable (_ isCanceled: () -> Bool) async throws -> Void
  ) -> Task<String, Never> {
    let step = Step("code") { then in
      Task {
        try await body { then.isCancelled }
        then()
      }
    }
    let work = { @Sendable () async throws -> Void in try await body { Task.isCancelled } }
    return Task { [clock, limit, reports] in
      do {
        switch limited {
        case .closure: return text(await manager.add(step).outcome)
        case .ownLimit:
          let limited = step.timeout(limit, abandoning: abandoning, clock: clock)
          return text(await manager.add(limited).outcome)
        case .whenRoom: return text(await (try manager.addWhenRoom(step)).outcome)
        case .handle:
          return text(
            await manager.add(Promise("code", diagnostics: reports.place, work)).outcome)
        case .run: try await Code.run.perform(on: manager, work)
        case .enqueue: try await Code.enqueue.perform(on: manager, work)
        case .turn, .abandoningTurn: try await Code.namedTurn.perform(on: manager, work)
        }
        return "succeeded"
      } catch {
        return "failed \(error)"
      }
    }
  }

  // Fails if the next step starts while the one that timed out runs, if its listeners wait for its
  // end, if it is not canceled, a turn is, or if the diagnostic is missing or repeated.
  @Test(
    "a step that exceeds its limit fails, and the next one waits until it has ended",
    .shows(Managing.neverTwo, Managing.timeout), arguments: Limited.allCases)
  func exceeded(_ limited: Limited) async {
    let (manager, code, log) = (manager(for: limited), HeldCode(), log)
    let answer = begin(limited, on: manager) { isCanceled in
      await code()
      log.append("end, canceled \(isCanceled())")
    }
    await code.begun.passed()
    let next = manager.add(log.appending("next"))
    await clock.elapse(limit)
    if !limited.isTurn { #expect(await answer.value == late) }
    #expect(await eventually { reports.all == [.timedOut(step)] })
    // Ends no turn, and no step without the grace period.
    manager.cancelAll()
    if limited.isTurn { manager.cancelAll(grace: .zero) }
    let last = manager.add(log.appending("last"))
    #expect([next, last].map { text($0.state) } == ["cancelled", "waiting"])
    #expect(manager.runningStep == step)
    code.proceed.open()
    #expect(await answer.value == late)
    #expect(text(await last.outcome) == "succeeded")
    await manager.idle()
    #expect(log.all == ["end, canceled \(!limited.isTurn)", "last"])
    #expect(reports.all.count == 1)
  }

  // Hangs if the queue waits for the end; fails if a late `then` is not reported.
  @Test(
    "with abandoning, the queue moves on when the limit passes", .shows(Managing.lateThen),
    arguments: Limited.abandoned)
  func abandoning(_ limited: Limited) async {
    let (manager, code) = (manager(for: limited, abandoning: true), HeldCode())
    let (ended, log) = (Gate(), log)
    let answer = begin(limited, on: manager, abandoning: true) { _ in
      await code()
      ended.open()
    }
    await code.begun.passed()
    let next = manager.add(log.appending("next"))
    await clock.elapse(limit)
    #expect(await answer.value == late)
    #expect(text(await next.outcome) == "succeeded")
    await manager.idle()
    code.proceed.open()
    await ended.passed()
    // The late end of what the library canceled is not.
    let expected: [Diagnostic] = limited.isClosure ? [.thenCalledLate(step)] : []
    #expect(await eventually { reports.all == expected })
  }

  // Fails if the caller gets the cancellation caused by the limit, or work that heeds it is
  // reported.
  @Test(
    "work that ends because its limit has canceled it has timed out", .shows(Managing.timeout),
    arguments: [Limited.handle, .run, .enqueue])
  func heedsCancellation(_ limited: Limited) async {
    let (manager, begun) = (manager(), Gate())
    let answer = begin(limited, on: manager) { _ in
      begun.open()
      await withTaskCancellation()
      throw CancellationError()
    }
    await begun.passed()
    let next = manager.add { then in then() }
    await clock.elapse(limit)
    #expect(await answer.value == late)
    #expect(text(await next.outcome) == "succeeded")
    await manager.idle()
    #expect(reports.all.allSatisfy { $0 == .timedOut(step) })
  }

  // Hangs if a grace period does not end a step that has timed out.
  @Test(
    "a grace period frees the queue of a step that timed out", .shows(Managing.grace),
    arguments: [true, false])
  func grace(_ isAll: Bool) async {
    let (manager, taken) = (manager(), Taken())
    let step = manager.add("slow", taken.handler)
    await clock.elapse(limit)
    #expect(text(await step.outcome) == late)
    if isAll {
      manager.cancelAll(grace: .seconds(1), clock: clock)
    } else {
      step.cancel(grace: .seconds(1), clock: clock)
    }
    let next = manager.add { then in then() }
    #expect(text(next.state) == "waiting")
    await clock.elapse(.seconds(1))
    #expect(text(await next.outcome) == "succeeded")
    #expect(text(step.state) == late)
    await manager.idle()
    taken.drop()
  }

  // Fails if the policy is applied at the `then`, or a second time then.
  @Test(
    "the failure policy is applied when the limit passes", .shows(Managing.policies),
    arguments: [true, false])
  func policies(_ stops: Bool) async {
    let (manager, taken) = (manager(stops ? .stop : .cancelRest), Taken())
    let step = manager.add("slow", taken.handler)
    let next = manager.add { then in then() }
    await clock.elapse(limit)
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

  // Fails if the time limit of a step includes its wait, or its timer outlives the step.
  @Test("each step has the full time from its start, and stops its timer if it ends in time")
  func eachStep() async {
    let (manager, first, second) = (manager(), Taken(), Taken())
    let handles = [manager.add(first.handler), manager.add(second.handler)]
    await clock.elapse(limit * 3 / 4)
    first.call()
    while clock.sleepers != 1 || text(handles[1].state) != "running" { await Task.yield() }
    clock.advance(by: limit * 3 / 4)
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
    let manager = manager(abandoning: true)
    let deferred = Deferred<Int>(diagnostics: .silent)
    let handle = manager.add(deferred.promise)
    await clock.elapse(limit)
    #expect(text(await handle.outcome) == late)
    if succeeds { deferred.fulfill(1) } else { deferred.fail(Failed()) }
    while reports.all.isEmpty { await Task.yield() }
    #expect(reports.all == [.thenCalledLate(StepIdentity(id: 1, name: nil))])
    let message = "\(reports.all)"
    #expect(message.contains("a time limit or a grace period ended it"))
    #expect(message.contains("without `abandoning`"))
  }
}
