import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Code that takes its turn where it is.
struct TurnTests {
  private let reports = Reports()
  private let log = Log<String>()

  private func held(_ manager: PromiseManager) -> Taken {
    let taken = Taken()
    manager.add("first", taken.handler)
    return taken
  }

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
  @Test("a turn runs on the caller's actor, with values that stay there, whether it waits or not")
  @MainActor
  func isolation() async throws {
    let manager = PromiseManager()
    let page = Page()
    for waits in [false, true] {
      let first = waits ? held(manager) : nil
      if waits {
        Task {
          await manager.waiting(1)
          first?.call()
        }
      }
      let same = try await manager.withTurn {
        MainActor.assertIsolated()
        await Task.yield()
        MainActor.assertIsolated()
        page.text += "."
        return page
      }
      MainActor.assertIsolated()
      #expect(same === page)
      #expect(try await Inside(manager).isInside())
      #expect(try await unisolatedTurn(manager) == 7)
    }
    #expect(page.text == "..")
  }

  nonisolated private func unisolatedTurn(_ manager: PromiseManager) async throws -> Int {
    try await manager.withTurn {
      await Task.yield()
      return 7
    }
  }

  // Fails if a turn overtakes a step, or overlaps with one, or if work loses its place.
  @Test("turns take their place among steps of every other kind, one at a time")
  func amongOthers() async throws {
    let (manager, log) = (PromiseManager(capacity: 11), log)
    let taken = held(manager)
    @Sendable func work(_ name: String) async {
      log.append("begin \(name)")
      await Task.yield()
      log.append("end \(name)")
    }
    manager.add { then in
      Task {
        await work("closure")
        then()
      }
    }
    async let turn: Void = manager.withTurn { await work("turn") }
    await manager.waiting(2)
    let promise = manager.add(Promise { await work("promise") })
    async let run: Void = manager.run { await work("run") }
    await manager.waiting(4)
    manager.enqueue { await work("enqueue") }
    manager.enqueue("early", at: .first) { await work("early") }
    async let before: Void = manager.run("before", at: .before(promise)) { await work("before") }
    await manager.waiting(7)
    async let named: Void = manager.withTurn("named") { await work("named") }
    await manager.waiting(8)
    try await manager.addWhenRoom { then in
      Task {
        await work("room")
        then()
      }
    }
    async let first: Void = manager.withTurn(at: .first) { await work("at first") }
    await manager.waiting(10)
    taken.call()
    _ = try await (turn, run, before, named, first)
    await manager.idle()
    let names = [
      "at first", "early", "closure", "turn", "before", "promise", "run", "enqueue", "named",
      "room",
    ]
    #expect(log.all == names.flatMap { ["begin \($0)", "end \($0)"] })
  }

  // Fails if the turn is another task's.
  @Test(
    "turns and the work of run and enqueue have the caller's task-local values and priority",
    .shows(Managing.callersContext), arguments: [false, true])
  func context(_ waits: Bool) async throws {
    let (manager, log) = (PromiseManager(), log)
    let first = waits ? held(manager) : nil
    @Sendable func note(_ name: String) {
      log.append("\(name) \(Request.id) \(Task.currentPriority == .utility)")
    }
    let tasks = [
      Task(priority: .utility) {
        try await Request.$id.withValue(1) { try await manager.withTurn { note("turn") } }
      },
      Task(priority: .utility) {
        try await Request.$id.withValue(2) { try await manager.run { note("run") } }
      },
      Task(priority: .utility) {
        let promise = Request.$id.withValue(3) { manager.enqueue { note("enqueue") } }
        // Awaited from here, where the priority is the same.
        try await promise.value
      },
    ]
    if waits { await manager.waiting(3) }
    first?.call()
    // Not awaited before: they would get the priority of this task.
    while log.count < 3 { await Task.yield() }
    for task in tasks { try await task.value }
    #expect(log.all.sorted() == ["enqueue 3 true", "run 2 true", "turn 1 true"])
  }

  // Fails if the work has the priority that the task had at first.
  @Test(
    "the work of run and enqueue has the priority that others gave the caller by waiting for it")
  func escalated() async throws {
    let manager = PromiseManager()
    let low = Task.detached(priority: .background) {
      while Task.currentPriority < .high { await Task.yield() }
      let run = try await manager.run { Task.currentPriority }
      return (run, try await manager.enqueue { Task.currentPriority }.value)
    }
    let (run, enqueue) = try await Task.detached(priority: .high) { try await low.value }.value
    #expect(run == .high && enqueue == .high)
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

  // Fails if the body runs, or the turn stays in the queue.
  @Test(
    "a turn, or the work of run, that is canceled while it waits never begins",
    .shows(Managing.cancelWaiting),
    arguments: ["task", "cancelAll", "cancelWaiting", "before", "policy"], [true, false])
  func cancelWaiting(_ way: String, isTurn: Bool) async {
    let manager = PromiseManager(onFailure: .cancelRest)
    let (taken, log, gate) = (held(manager), log, Gate())
    let task = Task {
      if way == "before" { await gate.passed() }
      if isTurn {
        try await manager.withTurn { log.append("body") }
      } else {
        try await manager.run { log.append("body") }
      }
    }
    if way != "before" { await manager.waiting(1) }
    switch way {
    case "task", "before": task.cancel()
    case "cancelAll": manager.cancelAll()
    case "cancelWaiting": manager.cancelWaiting()
    default: taken.call(Failed())
    }
    gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(manager.waitingCount == 0)
    if way != "policy" { taken.call() }
    await manager.idle()
    #expect(log.all.isEmpty)
  }

  // Fails if a turn is ended while its code runs.
  @Test("only its own code ends a turn", arguments: [false, true])
  func spared(_ isNamed: Bool) async throws {
    let (clock, begun, proceed) = (ManualClock(), Gate(), Gate())
    let (manager, log) = (PromiseManager(diagnostics: reports.place), log)
    let turn = Task {
      try await manager.withTurn(isNamed ? "turn" : nil) {
        begun.open()
        await proceed.passed()
        log.append("canceled \(Task.isCancelled)")
      }
    }
    await begun.passed()
    manager.cancelAll()
    manager.cancelAll(grace: .zero)
    manager.cancelAll(grace: .seconds(1), clock: clock)
    manager.add { then in
      log.append("next")
      then()
    }
    clock.advance(by: .seconds(2))
    manager.cancelAll(grace: .zero)
    await Task.yield()
    #expect(manager.runningStep?.id == 1)
    proceed.open()
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

  // Fails if the type of the error is lost, the step succeeds, or the failure is reported.
  @Test("a turn throws the error of its code, and its step has failed", arguments: [nil, "named"])
  func failing(_ name: String?) async {
    let manager = PromiseManager(diagnostics: reports.place)
    let stopping = PromiseManager(onFailure: .stop, diagnostics: reports.place)
    for manager in [manager, stopping] {
      await #expect(throws: Failed(number: 3)) {
        try await manager.withTurn(name) { () throws(Failed) -> Int in throw Failed(number: 3) }
      }
    }
    #expect(stopping.failure as? Failed == Failed(number: 3))
    #expect(manager.isIdle && reports.all.isEmpty)
  }

  // Hangs if the mark of the turn is missing.
  @Test(
    "a turn that waits for its own manager gets an error",
    .shows(Managing.deadlock), arguments: ["itself", "a promise", "another manager", "run", "idle"])
  func deadlock(_ way: String) async throws {
    let (manager, other) = (PromiseManager(diagnostics: reports.place), PromiseManager())
    let step = StepIdentity(id: 1, name: nil)
    try await manager.withTurn {
      let inner: () async throws -> Void =
        switch way {
        case "itself": { try await manager.withTurn { log.append("entered") } }
        case "a promise": { try await manager.enqueue {}.value }
        case "another manager":
          { try await other.withTurn { try await manager.withTurn { log.append("entered") } } }
        case "run": { try await other.run { try await manager.withTurn { log.append("entered") } } }
        default: { await manager.idle() }
        }
      if way == "idle" { return try await inner() }
      await #expect(throws: PromiseError.deadlock(step)) { try await inner() }
    }
    #expect(reports.all == (way == "idle" ? [.deadlock(step)] : []))
    try await manager.withTurn {}
  }

  // Fails if a refused turn or work waits, or is reported.
  @Test("a full or closed manager refuses a turn, and the work of run")
  func refused() async {
    let manager = PromiseManager(capacity: 1, diagnostics: reports.place)
    let taken = held(manager)
    manager.add { then in then() }
    await #expect(throws: PromiseError.full(capacity: 1)) { try await manager.withTurn {} }
    await #expect(throws: PromiseError.full(capacity: 1)) { try await manager.run {} }
    taken.call()
    await manager.idle()
    manager.close()
    await #expect(throws: PromiseError.closed) { try await manager.withTurn {} }
    await #expect(throws: PromiseError.closed) { try await manager.run {} }
    #expect(reports.all.isEmpty)
  }

  // Fails if the next step begins before the code has ended, or the caller does not get the timeout.
  @Test(
    "a turn that exceeds the time limit is reported, throws when its code has ended, and keeps its turn",
    .shows(Managing.timeout), arguments: [false, true])
  func timeLimit(_ abandoning: Bool) async throws {
    let (clock, begun, proceed, log) = (ManualClock(), Gate(), Gate(), log)
    let manager = PromiseManager(
      timeLimit: .seconds(5), abandoning: abandoning, clock: clock, diagnostics: reports.place)
    let turn = Task {
      try await manager.withTurn("slow") {
        begun.open()
        await proceed.passed()
        log.append("end, canceled \(Task.isCancelled)")
      }
    }
    await begun.passed()
    await clock.slept.passed()
    manager.add(log.appending("next"))
    clock.advance(by: .seconds(5))
    while reports.all.isEmpty { await Task.yield() }
    manager.cancelAll(grace: .zero)
    manager.add(log.appending("last"))
    #expect(reports.all == [.timedOut(StepIdentity(id: 1, name: "slow"))])
    #expect(log.all.isEmpty)
    proceed.open()
    await #expect(throws: PromiseError.timedOut(.seconds(5))) { try await turn.value }
    await manager.idle()
    #expect(log.all == ["end, canceled false", "last"])
    // Nothing of the timeout is left for the next step.
    #expect(try await manager.withTurn { 1 } == 1)
  }

  // Fails if a turn is missing from the events, or has no name.
  @Test("listeners receive the events of turns, and progress counts them")
  func events() async throws {
    let manager = PromiseManager()
    let events = manager.events()
    try await manager.withTurn("one") { #expect(manager.progress == 0) }
    #expect(manager.progress == 1)
    var names: [String] = []
    for await event in events {
      switch event {
      case .added(let step), .started(let step), .finished(let step, _, _):
        names.append(step.name ?? "none")
      case .idle: names.append("idle")
      }
      if names.last == "idle" { break }
    }
    #expect(names == ["one", "one", "one", "idle"])
  }

  // Fails if a turn that begins at once does not hand over to the steps that were added meanwhile, or to
  // those that wait for the manager.
  @Test("what was added or awaited during a turn continues after it", arguments: [false, true])
  func handsOver(_ hasQueue: Bool) async throws {
    let manager = PromiseManager(on: hasQueue ? DispatchQueue(label: "steps") : nil)
    let log = log
    async let idle: Void = try await manager.withTurn {
      manager.add(log.appending("step"))
      manager.pause()
      manager.add(log.appending("later"))
      manager.resume()
    }
    try await idle
    await manager.idle()
    #expect(log.all == ["step", "later"])
    let (begun, proceed) = (Gate(), Gate())
    let turn = Task {
      try await manager.withTurn {
        begun.open()
        await proceed.passed()
      }
    }
    await begun.passed()
    let waiter = Task { await manager.idle() }
    proceed.open()
    try await turn.value
    await waiter.value
  }

  // Fails if a turn retains its manager, or the manager is released while a caller waits.
  @Test(
    "a caller retains the manager as long as it waits or has its turn", arguments: [false, true])
  func life(_ waits: Bool) async throws {
    weak var dropped: PromiseManager?
    let gate = Gate()
    func start() async -> Task<Int, any Error> {
      let manager = PromiseManager()
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
    }
    let task = await start()
    dropped?.resume()
    #expect(try await task.value == 3)
    while dropped != nil { await Task.yield() }
  }
}

private enum Request {
  @TaskLocal static var id = 0
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
