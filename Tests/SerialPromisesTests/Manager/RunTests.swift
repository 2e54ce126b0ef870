import TestSupport
import Testing

@testable import SerialPromises

/// Asynchronous work that takes its turn.
struct RunTests {
  // Fails if the value is lost, or the work does not wait for its turn.
  @Test("run waits for its turn and returns the value")
  func value() async throws {
    let (manager, taken, log) = (PromiseManager(), Taken(), Log<String>())
    manager.add(taken.handler)
    async let value = manager.run("fetch") {
      log.append("work")
      return 42
    }
    await manager.waiting(1)
    #expect(log.count == 0)
    taken.call()
    #expect(try await value == 42)
  }

  // Fails if the error does not come back, or the step does not fail.
  @Test("run throws what the work throws, and the step has failed")
  func failing() async {
    let manager = PromiseManager(onFailure: .stop)
    await #expect(throws: Failed(number: 3)) {
      try await manager.run { throw Failed(number: 3) }
    }
    #expect(manager.failure as? Failed == Failed(number: 3))
  }

  // Fails if cancelling the caller does not reach the step, or the work runs all the same.
  @Test(
    "cancelling the task while its work waits takes the work out", .shows(Managing.cancelWaiting))
  func cancelWaiting() async {
    let (manager, taken, log) = (PromiseManager(), Taken(), Log<String>())
    manager.add(taken.handler)
    let task = Task { try await manager.run { log.append("work") } }
    await manager.waiting(1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    taken.call()
    await manager.idle()
    #expect(log.count == 0)
  }

  // Fails if the running work's own task is not cancelled.
  @Test("cancelling the task while its work runs cancels the work", .shows(Managing.cancelRunning))
  func cancelRunning() async {
    let (manager, started) = (PromiseManager(), Gate())
    let task = Task {
      try await manager.run {
        started.open()
        await withTaskCancellation()
        try Task.checkCancellation()
      }
    }
    await started.passed()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    await manager.idle()
  }

  // Fails if `run` does not look whether the task is cancelled before it adds the step.
  @Test("run in a task that is cancelled already throws, and its work never begins")
  func cancelledBefore() async {
    let (manager, log, gate) = (PromiseManager(), Log<String>(), Gate())
    let task = Task {
      await gate.passed()
      try await manager.run { log.append("work") }
    }
    task.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(log.count == 0)
  }

  // Fails if the way to cancel the work is registered when it has been suspended: then it finds that
  // it is not cancelled, and a loop that looks for that would go on for ever.
  @Test(
    "work that has not been suspended yet is cancelled with its caller, and with its step",
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
    #expect(!manager.isPaused, "what was called off has not failed")
  }

  // Fails, sooner or later, if a task that has ended is cancelled: best seen under a sanitizer.
  @Test("work that ends and is cancelled at the same time ends once")
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

  @TaskLocal private static var word: String?

  // Fails if a task that begins where another step ended takes over what it finds there.
  @Test("work does not see the task-local values of the step before it")
  func taskLocalValues() async throws {
    let (manager, started, goOn) = (PromiseManager(), Gate(), Gate())
    let first = Self.$word.withValue("first") {
      Task {
        try await manager.run {
          started.open()
          await goOn.passed()
          return Self.word
        }
      }
    }
    await started.passed()
    let second = Task { try await manager.run { Self.word } }
    await manager.waiting(1)
    goOn.open()
    #expect(try await first.value == "first")
    #expect(try await second.value == nil)
  }

  // Fails if work that goes on although it was cancelled loses its value.
  @Test("work that finishes although it was cancelled returns its value")
  func finishesAnyway() async throws {
    let (manager, started) = (PromiseManager(), Gate())
    let task = Task {
      try await manager.run {
        started.open()
        await withTaskCancellation()
        return 7
      }
    }
    await started.passed()
    task.cancel()
    #expect(try await task.value == 7)
  }

  // Fails if a step of `run` that a grace period ended leaves its caller waiting, or if `AsyncCall.end`
  // has its late call reported: nothing was misused.
  @Test(
    "run throws a cancellation when a grace period ends the step, whose late end is not reported")
  func grace() async {
    let (reports, goOn) = (Reports(), Gate())
    func work() async -> Watched {
      let (clock, started) = (ManualClock(), Gate())
      let manager = PromiseManager(diagnostics: reports.place)
      let task = Task {
        try await manager.run {
          started.open()
          await goOn.passed()
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
    goOn.open()
    // The last `then` holds the order: when that is gone, the work has ended.
    while !order.isGone { await Task.yield() }
    #expect(reports.all.isEmpty)
  }

  // Fails if a refused run waits for ever, hides why, or says it twice.
  @Test("run throws why it was refused, and reports nothing")
  func refused() async {
    let (reports, taken) = (Reports(), Taken())
    let manager = PromiseManager(capacity: 1, diagnostics: reports.place)
    manager.add(taken.handler)
    manager.add { then in then() }
    await #expect(throws: PromiseError.full(capacity: 1)) { try await manager.run {} }
    manager.close()
    await #expect(throws: PromiseError.closed) { try await manager.run {} }
    #expect(reports.all.isEmpty)
    taken.call()
  }
}

/// Returns when the current task is cancelled.
func withTaskCancellation() async {
  let gate = Gate()
  await withTaskCancellationHandler {
    await gate.passed()
  } onCancel: {
    gate.open()
  }
}

extension PromiseManager {
  /// Returns when that many steps wait.
  func waiting(_ count: Int) async {
    while waitingCount < count { await Task.yield() }
  }
}
