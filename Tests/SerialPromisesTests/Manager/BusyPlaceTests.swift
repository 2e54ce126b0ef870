import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Steps on their way to an actor or a queue that is busy.
///
/// Each test frees it only after it has seen the others move: a test that fails reaches its time
/// limit.
@Suite(.timeLimit(.minutes(2)))
struct BusyPlaceTests {
  /// Where the first step has to run.
  enum Place: CaseIterable, Sendable { case mainActor, actor, queue }

  // Fails if the claim stays with the step: `atRest` does not return, and the turn does not begin.
  @Test(
    "a manager whose only step is canceled on its way is at rest", .shows(Managing.onActor),
    arguments: Place.allCases, Removal.allCases)
  func canceled(_ place: Place, _ removal: Removal) async throws {
    let (busy, log) = (await Busy(place), Log<String>())
    defer { busy.free() }
    let manager = busy.manager
    let step = busy.addStep(to: manager, log)
    removal.perform(on: manager) { step.cancel() }
    await manager.atRest()
    try await manager.withTurn { log.append("turn") }
    await manager.idle()
    // What was sent arrives during another step, and has no effect.
    try await manager.withTurn { await busy.isPassed() }
    #expect(log.all == ["turn"])
  }

  enum Change: CaseIterable, Sendable { case cancel, moveBehind, moveBefore, addBefore, turnBefore }

  // Fails if the other step waits until the place is free, or its handler runs inside the
  // cancellation or the move, whose caller may hold locks.
  @Test(
    "another step begins meanwhile when the one on its way is canceled, moved or overtaken",
    .shows(Managing.onActor), arguments: Place.allCases, Change.allCases)
  func overtaken(_ place: Place, _ change: Change) async throws {
    let (busy, log) = (await Busy(place), Log<String>())
    defer { busy.free() }
    let manager = busy.manager
    let step = busy.addStep(to: manager, log)
    switch change {
    case .cancel, .moveBehind, .moveBefore:
      let other = busy.addOther(to: manager, at: .last) { log.append("other \(Task.isCurrent)") }
      switch change {
      case .cancel: step.cancel()
      case .moveBehind: step.move(to: .last)
      default: other.move(to: .first)
      }
      #expect(text(await other.outcome) == "succeeded")
    case .addBefore:
      let other = busy.addOther(to: manager, at: .first) { log.append("other false") }
      #expect(text(await other.outcome) == "succeeded")
    case .turnBefore: try await manager.withTurn(at: .first) { log.append("other false") }
    }
    #expect(text(step.state) == (change == .cancel ? "cancelled" : "waiting"))
    await busy.isPassed()
    await manager.idle()
    #expect(log.all == (change == .cancel ? ["other false"] : ["other false", "step"]))
  }

  /// How code of an actor is run.
  enum Call: CaseIterable, Sendable { case turn, run, enqueue }

  // Fails if the code begins when the actor is free, or the other step waits until then.
  @Test(
    "code that is canceled while its actor is busy never begins, and another step runs meanwhile",
    .shows(Managing.cancelWaiting), arguments: Call.allCases, Removal.allCases)
  func withdrawn(_ call: Call, _ removal: Removal) async {
    for place in [Place.mainActor, .actor] {
      let (manager, first, log) = (PromiseManager(), Taken(), Log<String>())
      manager.add(first.handler)
      let task = begin(call, at: place, on: manager, log)
      await manager.waiting(1)
      let busy = await Busy(place)
      defer { busy.free() }
      first.call()
      #expect(manager.runningStep?.id == 2)
      removal.perform(on: manager) { task.cancel() }
      let other = manager.add(log.appending("other"))
      #expect(text(await other.outcome) == "succeeded")
      if call == .turn { busy.free() }
      await #expect(throws: CancellationError.self) { try await task.value }
      await busy.isPassed()
      await manager.idle()
      #expect(log.all == ["other"])
    }
  }

  // Fails if the code begins, or stays in the queue without.
  @Test("code that times out while its actor is busy never begins", arguments: Call.allCases)
  func timedOut(_ call: Call) async {
    let (clock, reports, log) = (ManualClock(), Reports(), Log<String>())
    let manager = PromiseManager(
      timeLimit: .seconds(5), clock: clock, diagnostics: reports.place)
    manager.pause()
    let task = begin(call, at: .actor, on: manager, log)
    await manager.waiting(1)
    let busy = await Busy(.actor)
    defer { busy.free() }
    manager.resume()
    await clock.elapse(.seconds(5))
    while reports.all.isEmpty { await Task.yield() }
    let next = manager.add(log.appending("next"))
    #expect(text(next.state) == "waiting")
    busy.free()
    await #expect(throws: PromiseError.timedOut(.seconds(5))) { try await task.value }
    await manager.idle()
    #expect(log.all == ["next"])
  }

  /// Starts a task whose step is code of an actor.
  private func begin(
    _ call: Call, at place: Place, on manager: PromiseManager, _ log: Log<String>
  ) -> Task<Void, any Error> {
    switch (call, place) {
    case (.turn, .mainActor):
      Task { @MainActor in try await manager.withTurn { log.append("code") } }
    case (.turn, _): Task { @Suspendable in try await manager.withTurn { log.append("code") } }
    case (.run, .mainActor): Task { try await manager.run { @MainActor in log.append("code") } }
    case (.run, _): Task { try await manager.run { @Suspendable in log.append("code") } }
    case (.enqueue, .mainActor):
      Task { try await manager.enqueue { @MainActor in log.append("code") }.value }
    case (.enqueue, _):
      Task { try await manager.enqueue { @Suspendable in log.append("code") }.value }
    }
  }

  // Fails if the pause leaves the claim with the step: the task is not resumed.
  @Test(
    "a manager that is paused while a step is on its way is at rest, and runs it when it is resumed",
    arguments: Place.allCases)
  func paused(_ place: Place) async {
    let (busy, log) = (await Busy(place), Log<String>())
    defer { busy.free() }
    let manager = busy.manager
    let step = busy.addStep(to: manager, log)
    let resting = Task { await manager.atRest() }
    while manager.order.withLock({ $0.line.waiters.isEmpty }) { await Task.yield() }
    manager.pause()
    await resting.value
    // Sent twice: the first to arrive has no effect, the second runs the step.
    manager.resume()
    await busy.isPassed()
    #expect(text(await step.outcome) == "succeeded")
    #expect(log.all == ["step"])
  }

  // Fails if what was sent retains the manager.
  @Test(
    "a manager is released although its canceled or paused step is on its way",
    arguments: Place.allCases, [true, false])
  func released(_ place: Place, _ isPaused: Bool) async {
    let (busy, log) = (await Busy(place), Log<String>())
    defer { busy.free() }
    func use() -> (Watched, StepHandle) {
      let manager = busy.manager
      let step = busy.addStep(to: manager, log)
      if isPaused { manager.pause() } else { step.cancel() }
      return (Watched(manager), step)
    }
    let (manager, step) = use()
    #expect(manager.isGone)
    #expect(text(step.state) == "cancelled")
    await busy.isPassed()
    #expect(log.all.isEmpty)
  }
}

/// The main actor, an actor or a queue that is busy until it is freed.
private final class Busy: Sendable {
  private let place: BusyPlaceTests.Place
  private let queue: DispatchQueue
  private let gate = Gate()

  /// Returns when what the place did before has ended.
  init(_ place: BusyPlaceTests.Place) async {
    self.place = place
    queue =
      switch place {
      case .mainActor: .main
      case .actor: Suspendable.executor.queue
      case .queue: DispatchQueue(label: "busy")
      }
    await withCheckedContinuation { continuation in
      queue.async { [gate, queue] in
        // A job that runs is not suspended.
        if place != .mainActor { queue.suspend() }
        continuation.resume()
        if place == .mainActor { gate.block() }
      }
    }
  }

  var manager: PromiseManager { PromiseManager(on: place == .queue ? queue : nil) }

  func addStep(to manager: PromiseManager, _ log: Log<String>) -> StepHandle {
    switch place {
    case .mainActor:
      manager.add { @MainActor then in
        MainActor.preconditionIsolated()
        log.append("step")
        then()
      }
    case .actor:
      manager.add { @Suspendable then in
        Suspendable.shared.preconditionIsolated()
        log.append("step")
        then()
      }
    case .queue: manager.add(log.appending("step"))
    }
  }

  /// Adds a step that does not need the place.
  func addOther(
    to manager: PromiseManager, at location: StepPlace, _ body: @escaping @Sendable () -> Void
  ) -> StepHandle {
    guard place == .queue else {
      return manager.add(at: location) { then in
        body()
        then()
      }
    }
    return manager.add(at: location) { @MainActor then in
      body()
      then()
    }
  }

  func free() {
    if gate.isOpen { return }
    gate.open()
    if place != .mainActor { queue.resume() }
  }

  /// Frees the place, and returns when everything that was sent there before has arrived.
  func isPassed() async {
    free()
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume() }
    }
  }
}

/// An actor that blocks no thread while it is busy.
@globalActor
private actor Suspendable {
  static let shared = Suspendable()

  final class Executor: SerialExecutor {
    let queue = DispatchQueue(label: "actor")

    func enqueue(_ job: UnownedJob) {
      queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor {
      UnownedSerialExecutor(ordinary: self)
    }
  }

  static let executor = Executor()

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    Self.executor.asUnownedSerialExecutor()
  }
}
