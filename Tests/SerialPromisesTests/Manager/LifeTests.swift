import TestSupport
import Testing

@testable import SerialPromises

/// The lifetime of a manager and of its steps.
struct LifeTests {
  // Fails if a running queue does not retain its manager, or retains it forever.
  @Test("a manager lives as long as it has steps to run", .shows(Managing.life))
  func keptAlive() {
    let (taken, log) = (Taken(), Log<String>())
    weak var manager: PromiseManager?
    let second = {
      let made = PromiseManager()
      manager = made
      made.add(taken.handler)
      return made.add(log.appending("second"))
    }()
    #expect(manager != nil)
    taken.call()
    #expect(log.all == ["second"])
    #expect(manager == nil)
    #expect(text(second.state) == "succeeded")
  }

  // Fails, or hangs, if any reference is left: from the lock to its segments, from a segment to a handler, or
  // from a continuation to its step.
  @Test("a manager that has run its steps leaks nothing", .shows(Managing.life))
  func nothingLeft() async throws {
    weak var manager: PromiseManager?
    weak var order: Locked<SerialOrder>?
    weak var token: Token?
    weak var captured: Sentinel?
    func work() async throws {
      let (made, sentinel, taken) = (PromiseManager(capacity: 200), Sentinel(), Taken())
      (manager, order, captured) = (made, made.order, sentinel)
      made.add { then in
        sentinel.touch()
        then.onCancel { sentinel.touch() }
        taken.handler(then)
      }
      token = taken.with(\.token)
      for _ in 1...150 { made.add { then in then(sentinel.asError) } }
      taken.call()
      taken.drop()
      _ = try await made.run { sentinel }
      try await made.addWhenRoom { then in
        sentinel.touch()
        then()
      }
      await made.idle()
    }
    try await work()
    // The thread that granted the last turn may be about to release the manager.
    while order != nil { await Task.yield() }
    #expect(manager == nil)
    #expect(token == nil)
    #expect(captured == nil)
  }
}

extension Sentinel {
  struct AsError: Error { let sentinel: Sentinel }

  /// An error that retains the sentinel.
  var asError: any Error { AsError(sentinel: self) }
}
