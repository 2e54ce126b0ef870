import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Code that takes its turn where it is.
struct TurnTests {
  private let reports = Reports()
  private let log = Log<String>()

  // Fails if `withTurn` on an idle manager leaves its executor: the other task would run first.
  @Test("a turn of an idle manager begins without suspending, also the first one in a segment")
  @MainActor
  func idle() async throws {
    let manager = PromiseManager()
    for round in 0..<(3 * Segment.capacity) {
      var events: [String] = []
      let other = Task { @MainActor in events.append("other") }
      try await manager.withTurn(round % 3 == 0 ? "named" : nil) { events.append("turn") }
      events.append("after")
      await other.value
      #expect(events == ["turn", "after", "other"])
    }
  }

  // Fails if the body, or the code after it, runs on another executor after a wait.
  @Test(
    "a turn runs on the caller's actor, with values that stay there, whether it waits or not",
    arguments: [false, true])
  @MainActor
  func isolation(waits: Bool) async throws {
    let (manager, page) = (PromiseManager(), Page())
    if waits { manager.holdUntilOneWaits() }
    let same = try await manager.withTurn {
      MainActor.assertIsolated()
      await Task.yield()
      MainActor.assertIsolated()
      page.text += "."
      return page
    }
    MainActor.assertIsolated()
    #expect(same === page && page.text == ".")
    #expect(try await Inside(manager).isInside())
    #expect(try await unisolatedTurn(manager) == 7)
  }

  nonisolated private func unisolatedTurn(_ manager: PromiseManager) async throws -> Int {
    try await manager.withTurn {
      await Task.yield()
      return 7
    }
  }

  // Fails if code overtakes a step, or overlaps with one, or if work loses its place.
  @Test("code of every kind takes its place among other steps, one at a time")
  func amongOthers() async throws {
    let (manager, log) = (PromiseManager(capacity: 11), log)
    let taken = manager.hold()
    @Sendable func work(_ name: String) async {
      log.append("begin \(name)")
      await Task.yield()
      log.append("end \(name)")
    }
    func closure(_ name: String) -> Promisable.Handler {
      { then in
        Task {
          await work(name)
          then()
        }
      }
    }
    var tasks: [Task<Void, any Error>] = []
    func begin(_ code: Code, at place: StepPlace = .last, _ name: String) async {
      let count = manager.waitingCount
      tasks.append(
        Task { try await code.perform(on: manager, at: place) { await work(name) } })
      await manager.waiting(count + 1)
    }
    let first = manager.add(closure("closure"))
    for code in Code.allCases { await begin(code, "\(code)") }
    await begin(.run, at: .before(first), "before")
    await begin(.enqueue, at: .first, "early")
    try await manager.addWhenRoom(closure("room"))
    await begin(.turn, at: .first, "at first")
    taken.call()
    for task in tasks { try await task.value }
    await manager.idle()
    let names =
      ["at first", "early", "before", "closure"] + Code.allCases.map { "\($0)" } + ["room"]
    #expect(log.all == names.flatMap { ["begin \($0)", "end \($0)"] })
  }

  // Fails if the work begins in the turn of a later step.
  @Test("work whose step a grace period has ended does not begin")
  func endedBefore() async {
    let (manager, clock, log) = (PromiseManager(), ManualClock(), log)
    let call = AsyncCall(manager.order, name: nil, nil, nil) {
      log.append("began")
      return .failure(Failed())
    }
    #expect((try? call.enter(manager, at: .last)) == true)
    manager.cancelAll(grace: .seconds(1), clock: clock)
    clock.advance(by: .seconds(1))
    await manager.idle()
    // As on a busy pool of threads.
    call.start(hasTurn: true, startsHere: true, in: nil)
    #expect(log.all.isEmpty)
  }

  // Fails if a turn is ended while its code runs.
  @Test("only its own code ends a turn", arguments: [Code.turn, .namedTurn])
  func spared(_ code: Code) async throws {
    let (clock, body, log) = (ManualClock(), HeldCode(), log)
    let manager = PromiseManager(diagnostics: reports.place)
    let turn = Task {
      try await code.perform(on: manager) {
        await body()
        log.append("canceled \(Task.isCancelled)")
      }
    }
    await body.begun.passed()
    manager.cancelAll()
    manager.cancelAll(grace: .zero)
    manager.cancelAll(grace: .seconds(1), clock: clock)
    manager.add(log.appending("next"))
    clock.advance(by: .seconds(2))
    manager.cancelAll(grace: .zero)
    await Task.yield()
    #expect(manager.runningStep?.id == 1)
    body.proceed.open()
    try await turn.value
    await manager.idle()
    #expect(log.all == ["canceled false"])
    #expect(reports.all.isEmpty)
  }

  // Fails if the step of a canceled task has failed.
  @Test("a turn whose task is canceled ends as canceled, when its code ends")
  func cancelRunning() async throws {
    let (manager, begun) = (PromiseManager(onFailure: .stop), Gate())
    let events = manager.events()
    let turn = Task {
      try await manager.withTurn("turn") {
        begun.open()
        await withTaskCancellation()
        #expect(manager.runningStep?.name == "turn")
        try Task.checkCancellation()
      }
    }
    await begun.passed()
    turn.cancel()
    await #expect(throws: CancellationError.self) { try await turn.value }
    #expect(!manager.isPaused, "a canceled turn has not failed")
    for await event in events {
      guard case .finished(let step, let outcome, _) = event else { continue }
      #expect(step.name == "turn" && text(outcome) == "cancelled")
      break
    }
  }

  // Fails if a turn that begins at once does not hand over to the steps that were added meanwhile,
  // or to those that wait for the manager.
  @Test("what was added or awaited during a turn continues after it", arguments: [false, true])
  func handsOver(_ hasQueue: Bool) async throws {
    let manager = PromiseManager(on: hasQueue ? DispatchQueue(label: "steps") : nil)
    try await manager.withTurn {
      manager.add(log.appending("step"))
      manager.pause()
      manager.add(log.appending("later"))
      manager.resume()
    }
    await manager.idle()
    #expect(log.all == ["step", "later"])
    let code = HeldCode()
    let turn = Task { try await manager.withTurn { await code() } }
    await code.begun.passed()
    let waiter = Task { await manager.idle() }
    code.proceed.open()
    try await turn.value
    await waiter.value
  }

  // Fails if a turn retains its manager, or the manager is released while a caller waits.
  @Test(
    "a caller retains the manager as long as it waits or has its turn", arguments: [false, true])
  func life(_ waits: Bool) async throws {
    weak var dropped: PromiseManager?
    let task = await {
      let (manager, gate) = (PromiseManager(), Gate())
      dropped = manager
      if waits { manager.pause() }
      let task = Task {
        try await manager.withTurn {
          gate.open()
          await Task.yield()
          return 3
        }
      }
      if waits { await manager.waiting(1) } else { await gate.passed() }
      return task
    }()
    dropped?.resume()
    #expect(try await task.value == 3)
    while dropped != nil { await Task.yield() }
  }
}

/// A value that must not leave its isolation.
private final class Page {
  var text = ""
}

private actor Inside {
  private let turns: PromiseManager

  init(_ turns: PromiseManager) { self.turns = turns }

  func isInside() async throws -> Bool {
    try await turns.withTurn {
      await Task.yield()
      assertIsolated()
      return true
    }
  }
}
