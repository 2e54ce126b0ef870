import TestSupport
import Testing

@testable import SerialPromises

/// Waiting until no step runs, or until few enough wait.
struct WaitsTests {
  private let reports = Reports()
  private let step = StepIdentity(id: 1, name: "outer")

  // Fails if the getter is not `nonisolated(nonsending)`: it leaves the actor, and the other task runs.
  @Test("asking for the outcome of a step that is over does not leave the caller's actor")
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

  // Fails if the step that waits is waited for, or the one that runs is not.
  @Test("atRest returns when the running step of a paused manager is over, with others waiting")
  func rest() async {
    let (manager, taken, log) = (PromiseManager(), Taken(), Log<String>())
    manager.add(taken.handler)
    let next = manager.add { then in then() }
    manager.pause()
    let waiter = Task {
      await manager.atRest()
      log.append("at rest")
    }
    await manager.waiting(1, for: .atRest)
    #expect(log.all.isEmpty)
    taken.call()
    await waiter.value
    #expect(text(next.state) == "waiting" && manager.runningStep == nil)
    // Nothing runs: there is nothing to wait for.
    await manager.atRest()
    manager.resume()
    await manager.atRest()
    #expect(text(next.state) == "succeeded")
  }

  // Fails if who waits is woken between two steps, where the next one is about to begin.
  @Test("atRest of a manager that is not paused returns when all steps are over")
  func restOfRunning() async {
    let (manager, first, last) = (PromiseManager(), Taken(), Taken())
    manager.add(first.handler)
    manager.add(last.handler)
    let waiter = Task { await manager.atRest() }
    await manager.waiting(1, for: .atRest)
    first.call()
    #expect(manager.order.withLock { $0.waiters.count(.atRest) } == 1)
    last.call()
    await waiter.value
    #expect(manager.isIdle)
  }

  // Fails if a failure that stops the manager wakes nobody.
  @Test("atRest returns when a failure stops the manager")
  func stopped() async {
    let (manager, taken) = (PromiseManager(onFailure: .stop), Taken())
    manager.add(taken.handler)
    manager.add { then in then() }
    let waiter = Task { await manager.atRest() }
    await manager.waiting(1, for: .atRest)
    taken.call(Failed())
    await waiter.value
    #expect(manager.waitingCount == 1)
  }

  // Fails if those are woken who wait for fewer still, or are not when steps begin or are cancelled.
  @Test("fewerWaiting(than:) returns when few enough wait, whether they began or were cancelled")
  func few() async {
    let (manager, taken) = (PromiseManager(), Taken())
    manager.add(taken.handler)
    var handles = (1...3).map { _ in manager.add { then in then() } }
    await manager.fewerWaiting(than: 4)
    let waiters = [3, 3, 2, 1].map { limit in Task { await manager.fewerWaiting(than: limit) } }
    await manager.waiting(2, for: .waitingBelow(3))
    await manager.waiting(1, for: .waitingBelow(2))
    await manager.waiting(1, for: .waitingBelow(1))
    handles.removeLast().cancel()
    for waiter in waiters[..<2] { await waiter.value }
    let left = manager.order.withLock { order in
      [3, 2, 1].map { order.waiters.count(.waitingBelow($0)) }
    }
    #expect(left == [0, 1, 1])
    taken.call()
    for waiter in waiters { await waiter.value }
    #expect(manager.order.withLock { $0.waiters.isEmpty && !$0.waiters.haveLimits })
  }

  // Fails if a sweep passes over a number that somebody waits for.
  @Test("fewerWaiting(than:) returns when all that waits is cancelled at once", arguments: 1...3)
  func swept(_ limit: Int) async {
    let manager = PromiseManager()
    manager.pause()
    for _ in 1...3 { manager.add { then in then() } }
    let waiter = Task { await manager.fewerWaiting(than: limit) }
    await manager.waiting(1, for: .waitingBelow(limit))
    manager.cancelWaiting()
    await waiter.value
  }

  // Fails (hangs) if cancelling the task does not withdraw its ticket, or its line stays.
  @Test("both return early when the waiting task is cancelled", arguments: [true, false])
  func cancelled(_ isRest: Bool) async {
    let (manager, taken) = (PromiseManager(), Taken())
    manager.add(taken.handler)
    manager.add { then in then() }
    let condition: Waiters.Condition = isRest ? .atRest : .waitingBelow(1)
    let waiters = (1...5).map { _ in
      Task {
        if isRest { await manager.atRest() } else { await manager.fewerWaiting(than: 1) }
      }
    }
    await manager.waiting(5, for: condition)
    for number in [2, 0, 4, 1, 3] {
      waiters[number].cancel()
      await waiters[number].value
    }
    #expect(manager.order.withLock { $0.waiters.isEmpty && !$0.waiters.haveLimits })
    taken.call()
  }

  // Fails, without an end, if a step may wait for what comes only when it is over.
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

  // Fails if one that left is woken, another one is lost with it, or their order.
  @Test("those who wait leave and are woken in their order", arguments: [1, 2, 3])
  func line(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let log = Log<Int>()
    var waiters = Waiters()
    var tickets = (0..<100).map { number in
      (number, waiters.add(.idle) { log.append(number) })
    }
    for _ in 1...60 {
      let (number, ticket) = tickets.remove(at: Int.random(in: tickets.indices, using: &random))
      waiters.remove(ticket)?()
      #expect(log.removeAll() == [number])
      #expect(waiters.remove(ticket) == nil)
    }
    #expect(waiters.count(.idle) == 40)
    for wake in waiters.takeAll(.idle) { wake() }
    #expect(log.all == tickets.map(\.0))
    #expect(waiters.isEmpty && waiters.remove(tickets[0].1) == nil)
  }
}
