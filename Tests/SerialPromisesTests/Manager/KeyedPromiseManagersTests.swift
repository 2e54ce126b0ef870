import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// A manager for each key.
struct KeyedPromiseManagersTests {
  private let log = Log<String>()

  // Fails if an entry outlives its manager.
  @Test("a million keys, used once each, leave nothing behind", .shows(Managing.keys))
  func manyKeys() async {
    let managers = KeyedPromiseManagers<Int>()
    for key in 0..<(isLong ? 1_000_000 : 50_000 / ease) {
      managers[key].add { then in then() }
    }
    await managers.idle()
    while !managers.keys.isEmpty { await Task.yield() }
  }

  // Fails if two threads that use a key first get two managers, or the entry of one that is gone is
  // found.
  @Test(
    "two first users of a key get one manager, also when another one is just released",
    .shows(Managing.keys))
  func firstUsers() async {
    struct Round: Sendable {
      let managers: KeyedPromiseManagers<Int>
      let found = Log<ObjectIdentifier>()
      let held = Log<PromiseManager>()

      init() {
        managers = KeyedPromiseManagers()
        // Its manager is released meanwhile.
        managers[1].add { then in DispatchQueue.global().async { then() } }
      }

      func use() {
        let manager = managers[1]
        held.append(manager)
        found.append(ObjectIdentifier(manager))
      }
    }
    await inRounds(isLong ? 50_000 : 2_000 / ease) {
      Round()
    } _: { round in
      round.use()
    } _: { round in
      round.use()
    } fault: { round in
      let managers = round.held.all
      return managers.allSatisfy { $0 === managers[0] } && round.managers[1] === managers[0]
        ? nil : "two managers of one key"
    }
  }

  // Fails if the manager of a key is released with what it knows, or is not released afterwards.
  @Test("a key keeps its manager while it is paused, stopped by a failure, or closed")
  func stopped() async throws {
    let (managers, log) = (KeyedPromiseManagers<Int> { _ in PromiseManager(onFailure: .stop) }, log)
    managers[1].pause()
    managers[1].add(log.appending("paused"))
    #expect(managers[1].isPaused && managers.waitingCount == 1)
    managers[1].resume()
    #expect(log.all == ["paused"])
    try? await managers[2].withTurn { throw Failed() }
    #expect(managers[2].failure as? Failed == Failed())
    // Also if the pause begins in a turn that took an idle manager, and ends in it.
    managers[2].resume()
    try await managers[2].withTurn {
      managers[2].pause()
      managers[2].resume()
    }
    managers[3].pause()
    managers[3].add(log.appending("canceled"))
    managers.cancelAll()
    managers[3].resume()
    await managers.idle()
    #expect(managers.keys.isEmpty)
    managers[4].close()
    #expect(managers[4].isClosed && managers.keys == [4] && log.all == ["paused"])
  }

  // Fails if the rate of a key begins anew, or its manager is retained for ever.
  @Test("a key keeps its manager as long as its rate counts a step")
  func rate() async throws {
    let (clock, turns) = (ManualClock(), Locked(0))
    let managers = KeyedPromiseManagers<Int> { _ in
      PromiseManager(rate: Rate(1, per: .seconds(1)), clock: clock)
    }
    try await managers[1].withTurn {}
    #expect(managers.keys == [1])
    let second = Task { try await managers[1].withTurn { turns.withLock { $0 += 1 } } }
    await managers[1].waiting(1)
    #expect(turns.withLock { $0 } == 0)
    while turns.withLock({ $0 == 0 }) || !managers.keys.isEmpty {
      clock.advance(by: .seconds(1))
      await Task.yield()
    }
    try await second.value
  }

  // Fails if another key or another registry takes a key's manager away: two turns would begin.
  @Test("a manager can be that of several keys, also of several registries")
  func shared() async throws {
    let inner = KeyedPromiseManagers<Int>()
    let outer = KeyedPromiseManagers<Int> { inner[$0 % 2] }
    let taken = Taken()
    outer[3].add(taken.handler)
    #expect(inner.keys == [1] && outer[1] === inner[1] && outer[3] === inner[1])
    #expect(outer.keys.sorted() == [1, 3])
    taken.call()
    await outer.idle()
    #expect(inner.keys.isEmpty && outer.keys.isEmpty)
  }

  // Fails if a manager that is kept for its key retains itself.
  @Test("the managers of a registry that is released are like any others")
  func releasedRegistry() async {
    var managers: KeyedPromiseManagers<Int>? = KeyedPromiseManagers()
    managers?[1].pause()
    weak let paused = managers?[1]
    let waiting = managers?[1].add { then in then() }
    let taken = Taken()
    let running = managers?[2].add(taken.handler)
    managers = nil
    #expect(paused == nil && waiting.map { text($0.state) } == "cancelled")
    taken.call()
    #expect(running.map { text($0.state) } == "succeeded")
  }

  // Fails if a function for all managers leaves one out.
  @Test("idle, cancelAll, close and waitingCount are those of all managers")
  func all() async {
    let managers = KeyedPromiseManagers<Int> { key in PromiseManager(capacity: key) }
    func state(_ key: Int) -> String { text(managers[key].add { then in then() }.state) }
    let taken = (1...3).map { managers[$0].hold() }
    #expect((1...3).map(state) == ["waiting", "waiting", "waiting"])
    #expect(managers.waitingCount == 3 && managers.keys.sorted() == [1, 2, 3])
    // The capacity is that of the key.
    #expect(state(1).hasPrefix("failed"))
    managers.cancelAll()
    #expect(managers.waitingCount == 0)
    managers.close()
    #expect([2, 4].map(state) == [2, 4].map { _ in "failed \(PromiseError.closed)" })
    let idle = Task { await managers.idle() }
    for taken in taken { taken.call() }
    await idle.value
    #expect(managers.keys.allSatisfy { managers[$0].isIdle })
  }

  // Fails if `idle` reads each manager once. It is kept before the second manager, while a step of
  // that adds one to the first, and ends: in almost every round, it has read the first before.
  @Test("idle waits for a step that is added to a key that it has read before, by one that ends")
  func addedBehind() async {
    for _ in 1...20 {
      let (managers, last, next) = (KeyedPromiseManagers<Int>(), Taken(), Taken())
      let both = [managers[1], managers[2]]
      // In the order in which `idle` reads them.
      let (first, second) = (managers[managers.keys[0]], managers[managers.keys[1]])
      second.add(last.handler)
      let (began, ended) = (Gate(), Gate())
      await onNewThread {
        second.order.withLock { _ in
          Task.detached {
            began.open()
            await managers.idle()
            ended.open()
          }
          began.block()
          yieldToOthers()
          first.add(next.handler)
        }
        last.with { $0() }
      }
      while !ended.isOpen, first.order.withLock({ $0.line.waiters.isEmpty }) { await Task.yield() }
      #expect(!ended.isOpen)
      next.call()
      await ended.passed()
      withExtendedLifetime(both) {}
    }
  }

  // Hangs if `idle` waits for the step that calls it, or for another manager first, whose step
  // waits for that one.
  @Test("idle in a step of one of them is reported, also if the others wait for that step")
  func idleInAStep() async throws {
    let reports = Reports()
    let managers = KeyedPromiseManagers<Int> { _ in PromiseManager(diagnostics: reports.place) }
    let taken = (1...8).map { managers[$0].hold() }
    try await managers[0].withTurn("own") {
      await managers.idle()
      for taken in taken { taken.call() }
    }
    #expect(reports.all == [.deadlock(StepIdentity(id: 1, name: "own"))])
  }

  // Crashes if a wait is resumed twice; hangs if it never is, or waits for ever in a canceled task.
  @Test(
    "a wait for all keys that is canceled while it begins, or while their steps end, returns once")
  func canceledMeanwhile() async {
    for round in 0..<(isLong ? 20_000 : 1000 / ease) {
      let managers = KeyedPromiseManagers<Int>()
      let kept = (0...2).map { managers[$0] }
      let steps = kept.map { manager in
        let taken = Taken()
        manager.add(taken.handler)
        return taken
      }
      let idle = Task.detached { await managers.idle() }
      if round % 2 == 0 {
        while kept.contains(where: { $0.order.withLock { $0.line.waiters.isEmpty } }) {
          await Task.yield()
        }
        let ends = Task.detached { for step in steps { step.with { $0() } } }
        idle.cancel()
        await idle.value
        await ends.value
      } else {
        spin(upTo: 30)
        idle.cancel()
        await idle.value
        for step in steps { step.with { $0() } }
      }
      await managers.idle()
      #expect(kept.allSatisfy { $0.order.withLock { $0.line.waiters.isEmpty } })
    }
  }

  // Hangs if the closure that makes a manager, or the release of a key, runs under the lock.
  @Test("the closure that makes a manager and the deinit of a key may use the managers")
  func userCode() async {
    struct Key: Hashable, Sendable {
      let number: Int
      let sentinel: Sentinel?
      static func == (one: Key, other: Key) -> Bool { one.number == other.number }
      func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }
    let itself = Locked<KeyedPromiseManagers<Key>?>(nil)
    let managers = KeyedPromiseManagers<Key> { key in
      if key.number > 0 {
        _ = itself.withLock { $0 }?[Key(number: key.number - 1, sentinel: nil)]
      }
      return PromiseManager()
    }
    itself.withLock { $0 = managers }
    let log = log
    do {
      let sentinel = Sentinel {
        log.append("\(itself.withLock { $0 }?.keys.count ?? -1)")
      }
      managers[Key(number: 2, sentinel: sentinel)].add { then in then() }
    }
    while log.count == 0 { await Task.yield() }
    itself.withLock { $0 = nil }
    #expect(log.all == ["0"])
  }
}
