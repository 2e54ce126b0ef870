import TestSupport
import Testing

@testable import SerialPromises

/// Asynchronous work run in its turn.
struct RunTests {
  // Fails if the error is lost, or the step does not fail.
  @Test("run throws the error of the work, and the step has failed")
  func failing() async {
    let manager = PromiseManager(onFailure: .stop)
    await #expect(throws: Failed(number: 3)) {
      try await manager.run { throw Failed(number: 3) }
    }
    #expect(manager.failure as? Failed == Failed(number: 3))
  }

  // Fails if a cancellation before the call is found only while the task waits, which it does not do
  // if the manager is idle.
  @Test(
    "a canceled task adds no step, and takes no turn",
    arguments: ["run", "turn", "room", "no room"])
  func canceledBefore(_ way: String) async {
    let (manager, taken, log) = (PromiseManager(capacity: 1), Taken(), Log<String>())
    if way == "no room" { for _ in 1...2 { manager.add(taken.handler) } }
    let task = canceledTask {
      switch way {
      case "run": try await manager.run { log.append("work") }
      case "turn": try await manager.withTurn { log.append("work") }
      default: try await manager.addWhenRoom(log.appending("work"))
      }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    if way == "no room" { manager.cancelAll() }
    taken.call()
    await manager.idle()
    #expect(log.count == 0)
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

  // Hangs if a grace period that ends a step of `run` does not resume the caller. Fails if
  // `AsyncCall.end` reports the late call, which is not misuse.
  @Test(
    "run throws a cancellation if a grace period ends the step, and the late end is not reported")
  func grace() async {
    let (reports, proceed) = (Reports(), Gate())
    func work() async -> Watched {
      let (clock, started) = (ManualClock(), Gate())
      let manager = PromiseManager(diagnostics: reports.place)
      let task = Task {
        try await manager.run {
          started.open()
          await proceed.passed()
        }
      }
      await started.passed()
      manager.cancelAll(grace: .seconds(1), clock: clock)
      await clock.slept.passed()
      clock.advance(by: .seconds(1))
      await #expect(throws: CancellationError.self) { try await task.value }
      return Watched(manager.order)
    }
    let order = await work()
    #expect(!order.isGone)
    proceed.open()
    // The last `then` retains the order: when the order is released, the work has ended.
    while !order.isGone { await Task.yield() }
    #expect(reports.all.isEmpty)
  }
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
