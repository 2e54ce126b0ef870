import Foundation
import TestSupport
import Testing

@testable import SerialPromises

/// Asynchronous code that runs in its turn.
struct CodeTests {
  private let reports = Reports()
  private let log = Log<String>()

  // Fails if the error of the code is lost, or its failure is reported although its caller has it;
  // if the step has not failed, or has no name.
  @Test("the caller gets the error of the code, and its step has failed", arguments: Code.allCases)
  func failing(_ code: Code) async {
    let manager = PromiseManager(diagnostics: reports.place)
    let stopping = PromiseManager(onFailure: .stop, diagnostics: reports.place)
    let events = stopping.events()
    for manager in [manager, stopping] {
      await #expect(throws: Failed(number: 3)) {
        try await code.perform(on: manager, diagnostics: reports.place) { throw Failed(number: 3) }
      }
      await manager.atRest()
    }
    #expect(stopping.failure as? Failed == Failed(number: 3))
    #expect(manager.isIdle && reports.all.isEmpty)
    for await event in events {
      guard case .finished(let step, let outcome, _) = event else { continue }
      #expect(step == StepIdentity(id: 1, name: code == .turn ? nil : "code"))
      #expect(text(outcome) == "failed Failed(number: 3)")
      break
    }
  }

  // Fails if refused code waits or runs, or is reported although its caller learns it.
  @Test(
    "a full or closed manager refuses code", arguments: [Code.turn, .namedTurn, .run, .enqueue])
  func refused(_ code: Code) async {
    let manager = PromiseManager(capacity: 1, diagnostics: reports.place)
    let (taken, log) = (manager.hold(), log)
    manager.add { then in then() }
    func expect(_ error: PromiseError) async {
      await #expect(throws: error) { try await code.perform(on: manager) { log.append("code") } }
    }
    await expect(.full(capacity: 1))
    manager.close()
    await expect(.closed)
    taken.call()
    await manager.idle()
    await expect(.closed)
    #expect(reports.all.isEmpty && log.all.isEmpty)
  }

  // Hangs if the mark of the code is missing, or is lost while code waits for its turn in the other
  // manager.
  @Test(
    "code that waits for its own manager gets an error, also through another manager",
    .shows(Managing.deadlock), arguments: Code.allCases, Code.allCases)
  func deadlock(_ code: Code, _ inner: Code) async throws {
    let (manager, other) = (PromiseManager(diagnostics: reports.place), PromiseManager())
    let step = StepIdentity(id: 1, name: code == .turn ? nil : "code")
    try await code.perform(on: manager) {
      let others: [(Code?, Bool)] = [(.turn, false), (.run, false), (.turn, true), (.run, true)]
      for (outer, waits) in [(nil, false)] + others {
        if waits { other.holdUntilOneWaits() }
        await #expect(throws: PromiseError.deadlock(step)) {
          guard let outer else { return try await inner.perform(on: manager) {} }
          try await outer.perform(on: other) { try await inner.perform(on: manager) {} }
        }
      }
      await manager.idle()
    }
    #expect(reports.all == [.deadlock(step)])
    try await inner.perform(on: manager) {}
  }

  // Fails if the code is another task's.
  @Test(
    "turns and the work of run and enqueue have the caller's task-local values and priority",
    .shows(Managing.callersContext), arguments: [Code.turn, .namedTurn, .run, .enqueue],
    [false, true])
  func context(_ code: Code, waits: Bool) async throws {
    let (manager, log) = (PromiseManager(), log)
    if waits { manager.holdUntilOneWaits() }
    let task = Task(priority: .utility) {
      try await Request.$id.withValue(1) {
        try await code.perform(on: manager) {
          log.append("\(Request.id) \(Task.currentPriority == .utility)")
        }
      }
    }
    // Not awaited before: it would get the priority of this task.
    while log.count < 1 { await Task.yield() }
    try await task.value
    #expect(log.all == ["1 true"])
  }

  /// A caller that waits: for its turn, perhaps for a second at most, or for room.
  enum Caller: CaseIterable {
    case code(Code, Duration?), room

    static let allCases =
      Code.ofCallers.flatMap { [code($0, nil), .code($0, .seconds(1))] } + [room]

    var isForRoom: Bool { if case .room = self { true } else { false } }
  }

  enum Removal: CaseIterable { case task, before, beforeOnIdle, cancelAll, cancelWaiting, policy }

  // Fails if the code runs, its step stays in the queue, or the caller throws that it gave up; if a
  // cancellation before the call is found only while the task waits, which it does not do if the
  // manager is idle.
  @Test(
    "code whose caller is canceled while it waits, or before, never begins",
    .shows(Managing.cancelWaiting), arguments: Removal.allCases, Caller.allCases)
  func cancelWaiting(_ removal: Removal, _ caller: Caller) async {
    let manager = PromiseManager(
      onFailure: .cancelRest, capacity: caller.isForRoom ? 1 : nil, clock: ManualClock())
    let (taken, log, gate) = (Taken(), log, Gate())
    let isBefore = removal == .before || removal == .beforeOnIdle
    if removal != .beforeOnIdle {
      manager.add(taken.handler)
      if caller.isForRoom { manager.add { then in then() } }
    }
    let others = manager.waitingCount
    let task = Task {
      if isBefore { await gate.passed() }
      switch caller {
      case .code(let code, let limit):
        try await code.perform(on: manager, waitingAtMost: limit) { log.append("code") }
      case .room: try await manager.addWhenRoom(log.appending("code"))
      }
    }
    if !isBefore { await manager.waiting(others + 1) }
    switch removal {
    case .task, .before, .beforeOnIdle: task.cancel()
    case .cancelAll: manager.cancelAll()
    case .cancelWaiting: manager.cancelWaiting()
    case .policy: taken.call(Failed())
    }
    gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(manager.waitingCount == (isBefore || removal == .task ? others : 0))
    if removal != .policy { taken.call() }
    await manager.idle()
    #expect(log.all.isEmpty)
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

  // Hangs if the cancel handler is registered only when the work suspends: a loop that checks for
  // cancellation would never end.
  @Test(
    "work that has not suspended yet is canceled with its caller and with its step",
    .shows(Managing.cancelRunning))
  func cancelUnsuspended() async throws {
    let manager = PromiseManager(onFailure: .stop)
    let (caller, ready) = (Locked<Task<Bool, any Error>?>(nil), Gate())
    let task = Task {
      await ready.passed()
      return try await manager.run {
        caller.withLock { $0 }?.cancel()
        return Task.isCancelled
      }
    }
    caller.withLock { $0 = task }
    ready.open()
    #expect(try await task.value)
    let isCancelled = try await manager.run {
      manager.cancelAll()
      return Task.isCancelled
    }
    #expect(isCancelled)
    await #expect(throws: CancellationError.self) {
      try await manager.run {
        manager.cancelAll()
        try Task.checkCancellation()
      }
    }
    #expect(!manager.isPaused, "a canceled step has not failed")
  }

  // Fails intermittently if a task is canceled after its end: run under a sanitizer.
  @Test("work that ends and is canceled at the same time ends once")
  func endAndCancel() async throws {
    let manager = PromiseManager()
    for _ in 0..<(isLong ? 20_000 : 500) {
      let gate = Gate()
      let task = Task { try await manager.run { await gate.passed() } }
      async let opened: Void = gate.open()
      manager.cancelAll()
      task.cancel()
      await opened
      _ = await task.result
    }
    #expect(try await manager.run { 7 } == 7)
  }

  // Hangs if a grace period that ends a step does not resume the caller, or begin the next step.
  // Fails if `AsyncCall.end` reports the late call, which is not misuse. That of a time limit with
  // abandoning is in `TimeLimitTests`.
  @Test(
    "a grace period ends a step before its code, whose caller is canceled, and whose end is not reported",
    arguments: [Code.run, .enqueue, .promise, .link])
  func grace(_ code: Code) async {
    let held = HeldCode()
    let order = await {
      let (manager, clock) = (PromiseManager(diagnostics: reports.place), ManualClock())
      let task = Task { try await code.perform(on: manager) { await held() } }
      await held.begun.passed()
      manager.cancelAll(grace: .seconds(1), clock: clock)
      await clock.elapse(.seconds(1))
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(text(await manager.add { then in then() }.outcome) == "succeeded")
      return Watched(manager.order)
    }()
    #expect(!order.isGone)
    held.proceed.open()
    // The last `then` retains the order: when the order is released, the work has ended.
    while !order.isGone { await Task.yield() }
    #expect(reports.all.isEmpty)
  }

  /// How the work of the last step ends.
  enum End: CaseIterable, Sendable { case onItsStack, later, failing, canceled }

  // Fails if the step is over before its promise: settle it after the transition.
  @Test(
    "when a manager is idle, the promises of enqueued work are settled", arguments: End.allCases)
  func settled(_ end: End) async {
    struct Round: Sendable {
      let manager = PromiseManager()
      let promise: Promise<Int>
      let isPending = Log<Bool>()

      init(_ end: End) {
        manager.pause()
        promise = manager.enqueue {
          if end == .later { await Task.yield() }
          if end == .failing { throw Failed() }
          return 1
        }
      }
    }
    await inRounds(isLong ? 50_000 : 1_000 / ease) {
      Round(end)
    } _: { round in
      if end == .canceled { round.manager.cancelWaiting() } else { round.manager.resume() }
    } _: { round in
      while !round.manager.isIdle { sched_yield() }
      if case .pending = round.promise.state { round.isPending.append(true) }
    } fault: { round in
      round.promise.catch { _ in }
      return round.isPending.count > 0 ? "pending" : nil
    }
  }
}

private enum Request {
  @TaskLocal static var id = 0
}

/// Returns when the current task is canceled.
func withTaskCancellation() async {
  let gate = Gate()
  await withTaskCancellationHandler {
    await gate.passed()
  } onCancel: {
    gate.open()
  }
}

/// A task that is canceled before it does anything.
func canceledTask<Value: Sendable>(
  _ body: @escaping @Sendable () async throws -> Value
) -> Task<Value, any Error> {
  Task {
    withUnsafeCurrentTask { $0?.cancel() }
    return try await body()
  }
}

extension PromiseManager {
  /// Returns when this many steps wait.
  func waiting(_ count: Int) async {
    while waitingCount < count { await Task.yield() }
  }
}
