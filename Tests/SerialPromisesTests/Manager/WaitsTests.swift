import TestSupport
import Testing

@testable import SerialPromises

/// Waiting until no step runs, or until few enough wait.
struct WaitsTests {
  private let reports = Reports()
  private let step = StepIdentity(id: 1, name: "outer")

  // Fails if the getter is not `nonisolated(nonsending)`: it leaves the actor, and the other task
  // runs.
  @Test("reading the outcome of an ended step does not leave the caller's actor")
  @MainActor
  func outcomeOnActor() async {
    let log = Log<String>()
    let handle = PromiseManager().add { then in then() }
    while text(handle.state) != "succeeded" { await Task.yield() }
    let other = Task { @MainActor in log.append("other") }
    _ = await handle.outcome
    log.append("outcome")
    await other.value
    #expect(log.all == ["outcome", "other"])
  }

  // Hangs if canceling the task does not remove its waiter; fails if the empty line stays.
  @Test(
    "all three return early if the waiting task is canceled, also before the call",
    arguments: [Waiters.Condition.idle, .atRest, .waitingBelow(1)])
  func canceled(_ condition: Waiters.Condition) async {
    let (manager, taken) = (PromiseManager(), Taken())
    manager.add(taken.handler)
    manager.add { then in then() }
    let wait = { @Sendable in
      switch condition {
      case .idle: await manager.idle()
      case .atRest: await manager.atRest()
      case .waitingBelow(let limit): await manager.fewerWaiting(than: limit)
      }
    }
    let waiters = (1...5).map { _ in Task { await wait() } }
    await manager.waiting(5, for: condition)
    for number in [2, 0, 4, 1, 3] {
      waiters[number].cancel()
      await waiters[number].value
    }
    _ = await canceledTask { await wait() }.result
    #expect(manager.order.withLock { $0.line.waiters.isEmpty && $0.line.waiters.limitCount == 0 })
    taken.call()
  }

  // Hangs if a step may wait for an event that comes only after its own end.
  @Test("a step that waits for its own end, or for steps behind it, is reported")
  func deadlock() async throws {
    let manager = PromiseManager(diagnostics: reports.place)
    try await manager.run("outer") {
      await manager.fewerWaiting(than: 1)
      #expect(reports.all.isEmpty)
      manager.add { then in then() }
      await manager.fewerWaiting(than: 2)
      #expect(reports.all.isEmpty)
      await manager.fewerWaiting(than: 1)
      await manager.atRest()
    }
    #expect(reports.all == [.deadlock(step), .deadlock(step)])
  }

  // Fails if a removed waiter is resumed, another one is lost with it, the order changes, or a
  // priority is counted that no waiter has.
  @Test(
    "waiters leave and are resumed in order, and the highest priority is theirs",
    arguments: [1, 2, 3])
  func line(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let log = Log<Int>()
    var waiters = Waiters()
    var priorities = (0..<100).map { _ in UInt8.random(in: 0...9, using: &random) }
    var tickets = (0..<100).map { number in
      (number, waiters.add(.idle) { log.append(number) })
    }
    for (number, ticket) in tickets { waiters.raise(ticket, to: priorities[number]) }
    for _ in 1...60 {
      let (number, ticket) = tickets.remove(at: Int.random(in: tickets.indices, using: &random))
      waiters.remove(ticket)?()
      #expect(log.removeAll() == [number])
      #expect(waiters.remove(ticket) == nil)
      let raised = tickets[Int.random(in: tickets.indices, using: &random)]
      let priority = UInt8.random(in: 0...9, using: &random)
      waiters.raise(raised.1, to: priority)
      priorities[raised.0] = max(priorities[raised.0], priority)
      #expect(waiters.priorities.highest == tickets.map { priorities[$0.0] }.max())
    }
    #expect(waiters.count(.idle) == 40)
    var effects = Effects()
    waiters.wake(.idle, &effects)
    effects.perform { _ in }
    #expect(log.all == tickets.map(\.0))
    #expect(waiters.priorities.highest == 0)
    #expect(waiters.isEmpty && waiters.remove(tickets[0].1) == nil)
  }
}
