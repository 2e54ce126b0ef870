import Foundation
import TestSupport
import Testing

@testable import SerialPromises

/// Pausing, resuming, and waiting for an idle manager.
struct PauseAndIdleTests {
  // Fails if `next` ignores the pause, or pausing ends the running step; if a state is not
  // recorded, or the id is not the number of the addition.
  @Test(
    "pause lets the running step end and starts no other, as the handles of its steps show",
    .shows(Managing.pause, .handles))
  func pause() {
    let (manager, taken) = (PromiseManager(), Taken())
    let steps = [manager.add("one", taken.handler), manager.add { then in then(Failed()) }]
    #expect(steps.map(\.id) == [1, 2] && steps.map(\.name) == ["one", nil])
    #expect(steps.map { text($0.state) } == ["running", "waiting"])
    manager.pause()
    manager.pause()
    #expect(manager.isPaused)
    taken.call()
    #expect(steps.map { text($0.state) } == ["succeeded", "waiting"])
    manager.resume()
    #expect(steps.map { text($0.state) } == ["succeeded", "failed Failed(number: 0)"])
    #expect(!manager.isPaused)
    manager.resume()
  }

  // Fails if a waiter is resumed before the last step ends; hangs if some waiters are not resumed.
  @Test(
    "all waiters for idle are resumed after the last step, and not before", .shows(Managing.idle))
  func several() async {
    let (manager, log) = (PromiseManager(), Log<Int>())
    let (first, last) = (manager.hold(), manager.hold())
    let waiters = (1...5).map { number in
      Task {
        await manager.idle()
        log.append(number)
      }
    }
    await manager.idleWaiting(5)
    first.call()
    #expect(!manager.order.withLock { $0.line.waiters.isEmpty } && log.all.isEmpty)
    last.call()
    for waiter in waiters { await waiter.value }
    #expect(log.count == 5)
  }

  // Fails if the timeout is ignored, or its waiter is left behind or waits again.
  @Test(
    "waitUntilIdle returns after its timeout and leaves no waiter behind", .shows(Managing.idle))
  func timeout() throws {
    let (manager, taken) = (PromiseManager(), Taken())
    manager.add(taken.handler)
    #expect(throws: PromiseError.timedOut(.zero)) { try manager.waitUntilIdle(timeout: .zero) }
    #expect(throws: PromiseError.timedOut(.nanoseconds(1))) {
      try manager.waitUntilIdle(timeout: .nanoseconds(1))
    }
    #expect(manager.order.withLock { $0.line.waiters.isEmpty })
    taken.call()
    try manager.waitUntilIdle(timeout: .zero)
  }

  // Hangs if the last step does not wake a blocked thread. Traps if a timeout beyond the range of
  // Dispatch overflows.
  @Test(
    "waitUntilIdle blocks until the last step has ended", .shows(Managing.idle),
    arguments: [nil, Duration.seconds(1e12)])
  func blocking(_ timeout: Duration?) {
    let (manager, taken, log) = (PromiseManager(), Taken(), Log<String>())
    manager.add(taken.handler)
    onThreads(2) { index in
      if index == 0 {
        #expect(throws: Never.self) { try manager.waitUntilIdle(timeout: timeout) }
        log.append("idle")
      } else {
        while manager.order.withLock({ $0.line.waiters.isEmpty }) { sched_yield() }
        log.append("then")
        taken.call()
      }
    }
    #expect(log.all == ["then", "idle"])
  }
}

extension PromiseManager {
  /// Returns when this many tasks wait for the condition.
  func waiting(_ count: Int, for condition: Waiters.Condition) async {
    while order.withLock({ $0.line.waiters.count(condition) }) < count { await Task.yield() }
  }

  /// Returns when this many tasks wait for idle.
  func idleWaiting(_ count: Int) async {
    await waiting(count, for: .idle)
  }
}
