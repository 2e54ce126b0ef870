import SerialPromises
import Testing

/// A clock that each sleep moves, without waiting.
final class JumpingClock: Clock {
  typealias Instant = ContinuousClock.Instant

  private let time = Locked(ContinuousClock.now)

  var now: Instant { time.withLock { $0 } }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    time.withLock { $0 = max($0, deadline) }
  }
}

final class Client {
  private let (clock, manager): (JumpingClock, PromiseManager)
  private let start: JumpingClock.Instant
  private(set) var sent: [Duration] = []

  init() {
    clock = JumpingClock()
    start = clock.now
    manager = PromiseManager(rate: Rate(2, per: .seconds(10)), clock: clock)
  }

  func get(_ path: String) -> Promise<Void> {
    manager.enqueue(path) { self.sent.append(self.clock.now - self.start) }
  }
}

struct RatesTests {
  // Fails if the rate is ignored: all requests are sent at 0.
  @Test("a client sends no more requests than its rate allows")
  func client() async throws {
    let client = Client()
    _ = try await when(["a", "b", "c"].map { client.get($0) }).value
    #expect(client.sent == [.zero, .zero, .seconds(10)])
  }
}
