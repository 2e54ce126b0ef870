import TestSupport
import Testing

@testable import SerialPromises

/// Callers that limit how long they wait for their turn, or do not wait.
struct WaitingAtMostTests {
  private let clock = ManualClock()
  private let log = Log<String>()
  private let taken = Taken()
  private let reports = Reports()

  /// Runs code that waits at most a second for its turn.
  private func begin(_ code: Code, on manager: PromiseManager) -> Task<Void, any Error> {
    let log = log
    return Task {
      try await code.perform(on: manager, waitingAtMost: .seconds(1)) { log.append("code") }
    }
  }

  // MARK: A limit

  // Fails if the caller waits on, its step stays in the queue, or the others change places; if the
  // outcome of its step, or its event, is other than that of a canceled step.
  @Test(
    "a caller whose turn does not begin in time gives up, and leaves no trace",
    arguments: Code.ofCallers)
  func givesUp(_ code: Code) async throws {
    let manager = PromiseManager(clock: clock)
    let events = manager.events()
    manager.add("slow", taken.handler)
    manager.add("a", log.appending("a"))
    let caller = begin(code, on: manager)
    await manager.waiting(2)
    manager.add("b", log.appending("b"))
    await clock.elapse(.milliseconds(999))
    #expect(manager.waitingCount == 3)
    clock.advance(by: .milliseconds(1))
    let step = try #require(manager.runningStep)
    let error = PromiseError.stillWaiting(.seconds(1), for: step)
    await #expect(throws: error) { try await caller.value }
    #expect("\(error)".contains("while step \"slow\" ran"))
    #expect(manager.waitingCount == 2)
    taken.call()
    await manager.idle()
    #expect(log.all == ["a", "b"])
    let ends = await events.prefix { text($0) != "idle" }.reduce(into: []) { $0.append(text($1)) }
      .filter { $0.hasPrefix("finished") }
    let ended = ["3 cancelled", "1 succeeded", "2 succeeded", "4 succeeded"]
    #expect(ends == ended.map { "finished \($0)" })
  }

  // Fails if the error names a step, or the caller does not wait for a paused manager.
  @Test("a caller of a paused manager gives up, too", arguments: Code.ofCallers)
  func paused(_ code: Code) async throws {
    let manager = PromiseManager(clock: clock)
    manager.pause()
    let caller = begin(code, on: manager)
    await clock.elapse(.seconds(1))
    await #expect(throws: PromiseError.stillWaiting(.seconds(1), for: nil)) {
      try await caller.value
    }
    #expect(manager.isIdle)
  }

  // Fails if the limit ends a turn that was granted.
  @Test("a turn that begins in time lasts as long as its code", arguments: Code.ofCallers)
  func granted(_ code: Code) async throws {
    let (manager, log, clock) = (PromiseManager(clock: clock), log, clock)
    manager.add(taken.handler)
    let caller = Task {
      try await code.perform(on: manager, waitingAtMost: .seconds(1)) {
        clock.advance(by: .seconds(5))
        await Task.yield()
        log.append("canceled \(Task.isCancelled)")
      }
    }
    await clock.waitForSleeper()
    taken.call()
    try await caller.value
    #expect(log.all == ["canceled false"])
    await manager.idle()
  }

  // Fails if the turn of a busy actor is withdrawn after it was granted.
  @Test("a turn that was granted to a task of a busy actor is not withdrawn")
  @MainActor
  func busyActor() async throws {
    let manager = PromiseManager(clock: clock)
    manager.add(taken.handler)
    let caller = Task { try await manager.withTurn(waitingAtMost: .seconds(1)) { "here" } }
    await clock.waitForSleeper()
    // No suspension until the limit has passed: the task cannot begin its code.
    taken.call()
    clock.advance(by: .seconds(2))
    #expect(manager.runningStep != nil)
    #expect(try await caller.value == "here")
  }

  // Fails if an idle manager lets a caller wait.
  @Test(
    "on an idle manager, a limit of zero is enough", arguments: Code.ofCallers,
    [Duration.zero, .seconds(-1)])
  func zero(_ code: Code, _ limit: Duration) async throws {
    let manager = PromiseManager()
    try await code.perform(on: manager, waitingAtMost: limit) { [log] in log.append("code") }
    #expect(log.all == ["code"])
  }

  // Fails if a caller both gives up and has its turn, or neither.
  @Test(
    "a caller either gives up or has its turn, when both happen at once", arguments: Code.ofCallers)
  func race(_ code: Code) async {
    let (begun, gaveUp, rounds) = (Locked(0), Locked(0), isLong ? 20_000 : 100 / ease)
    for _ in 1...rounds {
      let (clock, taken) = (ManualClock(), Taken())
      let manager = PromiseManager(clock: clock)
      manager.add(taken.handler)
      let caller = Task {
        do {
          try await code.perform(on: manager, waitingAtMost: .seconds(1)) { _ = begun.next() }
        } catch PromiseError.stillWaiting {
          _ = gaveUp.next()
        }
      }
      await clock.waitForSleeper()
      async let passes: Void = onNewThread { clock.advance(by: .seconds(1)) }
      taken.call()
      await passes
      await #expect(throws: Never.self) { try await caller.value }
      await manager.idle()
    }
    #expect(begun.withLock { $0 } + gaveUp.withLock { $0 } == rounds)
  }

  // MARK: Only if it is free

  // Fails if the turn is taken although something runs, waits or is paused, or not taken although
  // nothing does; if a turn that begins after the end of a segment of the queue seems to wait.
  @Test(
    "a turn is available only if nothing runs or waits, and the manager is not paused",
    arguments: [nil, "named"])
  func available(name: String?) async throws {
    let manager = PromiseManager()
    func isAvailable() async throws -> Bool {
      try await manager.withTurnIfAvailable(name) {} != nil
    }
    for _ in 0..<(3 * Segment.capacity) { #expect(try await isAvailable()) }
    manager.add(taken.handler)
    #expect(try await !isAvailable())
    taken.call()
    await manager.idle()
    manager.pause()
    #expect(try await !isAvailable())
    let waiting = manager.add(log.appending("x"))
    #expect(try await !isAvailable())
    waiting.cancel()
    manager.resume()
    #expect(try await isAvailable() && manager.isIdle)
  }

  // Fails if a call inside a turn waits for it, or reports a deadlock.
  @Test("inside a turn of the same manager, it is nil")
  func nested() async throws {
    let manager = PromiseManager()
    let inner = try await manager.withTurn { try await manager.withTurnIfAvailable { 1 } }
    #expect(inner == nil)
    let outer = try await manager.withTurnIfAvailable {
      try await manager.withTurnIfAvailable { 1 }
    }
    #expect(outer == .some(nil))
  }

  // Fails if a closed manager is taken for a busy one, or a canceled task begins a turn.
  @Test("a closed manager throws, also while a step runs, and so does a canceled task")
  func refused() async throws {
    let manager = PromiseManager()
    manager.add(taken.handler)
    manager.close()
    await #expect(throws: PromiseError.closed) { try await manager.withTurnIfAvailable {} }
    taken.call()
    await manager.idle()
    await #expect(throws: PromiseError.closed) { try await manager.withTurnIfAvailable {} }
    let gate = Gate()
    let task = Task {
      await gate.passed()
      return try await PromiseManager().withTurnIfAvailable { 1 }
    }
    task.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  // Fails if the rate is not checked, or a turn that it forbids enters the queue.
  @Test("a turn that the rate does not allow yet is not available")
  func rate() async throws {
    let manager = PromiseManager(rate: Rate(1, per: .seconds(1)), clock: clock)
    #expect(try await manager.withTurnIfAvailable { 1 } == 1)
    #expect(try await manager.withTurnIfAvailable { 2 } == nil)
    #expect(manager.waitingCount == 0)
    clock.advance(by: .seconds(1))
    #expect(try await manager.withTurnIfAvailable { 3 } == 3)
    #expect(try await manager.withTurnIfAvailable { 4 } == nil)
  }

  // Fails if the code throws another error, or the turn does not end with it.
  @Test("the error of the code is thrown, and the time limit of the manager applies")
  func ends() async throws {
    let manager = PromiseManager(
      timeLimit: .seconds(1), clock: clock, diagnostics: reports.place)
    await #expect(throws: Failed.self) { try await manager.withTurnIfAvailable { throw Failed() } }
    let (clock, reports) = (clock, reports)
    await #expect(throws: PromiseError.timedOut(.seconds(1))) {
      try await manager.withTurnIfAvailable {
        await clock.elapse(.seconds(1))
        while reports.all.isEmpty { await Task.yield() }
      }
    }
    #expect(manager.isIdle)
  }
}
