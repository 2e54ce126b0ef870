import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Steps whose handlers belong to an actor.
struct StepsOnActorTests {
  /// The ways to add such a step.
  enum Way: CaseIterable, Sendable { case add, named, step, whenRoom, limited }

  /// A manager whose turns begin elsewhere: on a global queue, on a queue, or on the main queue.
  enum Turns: CaseIterable, Sendable {
    case anywhere, onQueue, onMain

    var manager: PromiseManager {
      switch self {
      case .anywhere: PromiseManager()
      case .onQueue: PromiseManager(on: DispatchQueue(label: "steps"))
      case .onMain: PromiseManager(on: .main)
      }
    }
  }

  // Fails if a handler runs elsewhere, out of order, or before the preceding one has returned: each
  // calls `then` first.
  @Test(
    "handlers of the main actor and of another run there, in order, one after another",
    .shows(Managing.onActor), arguments: Way.allCases, Turns.allCases)
  func there(_ way: Way, _ turns: Turns) async throws {
    let (manager, log) = (turns.manager, Log<String>())
    for number in 0..<50 {
      try await add(to: manager, way) { @MainActor then in
        MainActor.preconditionIsolated()
        then()
        log.append("main \(number)")
      }
      try await add(to: manager, way) { @Elsewhere then in
        Elsewhere.shared.preconditionIsolated()
        if number % 2 == 0 { then() } else { DispatchQueue.global().async { then() } }
        log.append("actor \(number)")
      }
      manager.add { then in
        log.append("free \(number)")
        then()
      }
    }
    await manager.idle()
    #expect(log.all == (0..<50).flatMap { ["main \($0)", "actor \($0)", "free \($0)"] })
  }

  private func add(
    to manager: PromiseManager, _ way: Way,
    _ handler: @escaping @isolated(any) @Sendable (Then) -> Void
  ) async throws {
    switch way {
    case .add: manager.add(handler)
    case .named: manager.add("named", at: .last, handler)
    case .step: manager.add(Step("step", handler))
    case .whenRoom: _ = try await manager.addWhenRoom(handler)
    case .limited: manager.add(Step(nil, handler).timeout(.seconds(3600), clock: ManualClock()))
    }
  }

  // Traps if a closure without an annotation belongs to no actor; fails if its step waits for a turn of
  // the main queue although it is next.
  @MainActor
  @Test("in code of the main actor, a closure belongs to it, and a step that is next runs at once")
  func inherited() {
    let manager = PromiseManager()
    for number in 1...3 {
      manager.add { then in
        MainActor.preconditionIsolated()
        log.append(number)
        then()
      }
    }
    #expect(log.all == [1, 2, 3])
  }

  private let log = Log<Int>()

  // Fails if the step begins although it was canceled, or the queue stops, while the main actor is busy.
  @MainActor
  @Test("a step that is canceled or moved on the way to its actor does not begin there")
  func onTheWay() async {
    let (manager, log) = (PromiseManager(), log)
    manager.pause()
    let first = manager.add { @MainActor then in
      log.append(1)
      then()
    }
    let second = manager.add { @MainActor then in
      log.append(2)
      then()
    }
    let third = manager.add("moved", at: .last) { @MainActor then in
      log.append(3)
      then()
    }
    // On another thread: both are on the way to this one, which is busy.
    onThread { manager.resume() }
    first.cancel()
    third.move(to: .first)
    await manager.idle()
    #expect(log.all == [3, 2])
    #expect(text(await first.outcome) == "cancelled")
    #expect(text(await second.outcome) == "succeeded")
  }

  // Stops the program if a step whose handler has returned counts as one that needs this thread.
  @MainActor
  @Test("waitUntilIdle on the main thread waits for a step of the main actor that ends elsewhere")
  func blocking() throws {
    let manager = PromiseManager()
    manager.add { then in DispatchQueue.global().async { then() } }
    try manager.waitUntilIdle()
  }

  // Fails if the wait ends by its timeout without a report.
  @MainActor
  @Test("waitUntilIdle with a timeout on the main thread reports that a step has to run there")
  func blockingWait() {
    let reports = Reports()
    let manager = PromiseManager(diagnostics: reports.place)
    let gate = Gate()
    defer { gate.open() }
    manager.add { then in
      DispatchQueue.global().async {
        gate.block()
        then()
      }
    }
    manager.add { then in then() }
    #expect(throws: PromiseError.timedOut(.milliseconds(1))) {
      try manager.blockUntilIdle(timeout: .milliseconds(1))
    }
    #expect(reports.all.count == 1 && "\(reports.all)".contains("main thread"))
  }

  // Fails if the next handler runs inside the call of `then`: its `then` is forgotten, and its step fails.
  @MainActor
  @Test("a delegate of the main actor may call its then and forget it afterwards")
  func forgetful() async {
    let (manager, delegate) = (PromiseManager(), Delegate())
    let steps = (1...3).map { _ in manager.add { then in delegate.then = then } }
    for step in steps {
      // Outside a task, as most delegates are called.
      DispatchQueue.main.async { MainActor.assumeIsolated { delegate.finish() } }
      #expect(text(await step.outcome) == "succeeded")
    }
  }

  @MainActor
  private final class Delegate {
    var then: Then?

    func finish() {
      then?()
      then = nil
    }
  }

  // Overflows the stack if steps of the main actor nest.
  @MainActor
  @Test("many steps of the main actor use constant stack", .shows(Managing.onActor))
  func stack() async {
    let manager = PromiseManager()
    manager.pause()
    for _ in 0..<100_000 { manager.add { then in then() } }
    manager.resume()
    await manager.idle()
    #expect(manager.waitingCount == 0)
  }

  // Fails if a handler sees the task of another step, or of the caller of `then`.
  @Test("a handler on an actor sees no task of another step", .shows(Managing.context))
  func context() async {
    let (manager, seen) = (PromiseManager(), Log<String>())
    await WhereHandlersRunTests.$task.withValue("A") {
      manager.add { then in Task { then() } }
      manager.add { @MainActor then in
        seen.append(WhereHandlersRunTests.task)
        then()
      }
      manager.add { @Elsewhere then in
        seen.append(WhereHandlersRunTests.task)
        then()
      }
      await manager.idle()
    }
    #expect(seen.all == ["none", "none"])
  }

  // Fails if the manager keeps the actor of a step that has ended.
  @Test("an actor is released with the last handle of its steps")
  func released() async {
    let manager = PromiseManager()
    let actor = Watched(await steps(of: manager))
    await manager.idle()
    while !actor.isGone { await Task.yield() }
  }

  private actor Counter {
    private(set) var count = 0

    func step(in manager: PromiseManager) {
      manager.add { then in
        self.count += 1
        then()
      }
    }
  }

  private func steps(of manager: PromiseManager) async -> Counter {
    let counter = Counter()
    for _ in 1...3 { await counter.step(in: manager) }
    await manager.idle()
    #expect(await counter.count == 3)
    return counter
  }

  // Fails if the body of a promise or a cancel handler runs elsewhere.
  @Test("the body of a promise, and cancel handlers, run on their actor")
  func bodies() async {
    let (manager, stopped) = (PromiseManager(), Log<String>())
    let promise = Promise<Int> { @MainActor deferred in
      MainActor.preconditionIsolated()
      deferred.onCancel { @MainActor in
        MainActor.preconditionIsolated()
        stopped.append("promise")
      }
      manager.add { then in
        then.onCancel { @Elsewhere in
          Elsewhere.shared.preconditionIsolated()
          stopped.append("step")
          withExtendedLifetime(deferred) {}
          then(CancellationError())
        }
        promiseIsStarted.open()
      }
    }
    promise.start()
    await promiseIsStarted.passed()
    promise.cancel()
    manager.cancelAll()
    await manager.idle()
    await MainActor.run {}
    #expect(stopped.all.sorted() == ["promise", "step"])
    let called = Promise<Int> { @MainActor resolve, _ in
      MainActor.preconditionIsolated()
      resolve(1)
    }
    #expect(await called.outcome == "1")
  }

  private let promiseIsStarted = Gate()

  // Fails if the body runs, or the promise stays pending.
  @MainActor
  @Test("a promise that is canceled on the way to its actor never begins")
  func canceledBody() async {
    let begun = Log<Int>()
    let promise = Promise<Int> { @MainActor deferred in
      begun.append(1)
      deferred.fulfill(1)
    }
    onThread { promise.start() }
    promise.cancel()
    #expect(await promise.outcome == "failed \(CancellationError())")
    #expect(begun.all.isEmpty)
  }
}
