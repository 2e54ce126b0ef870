import SerialPromises
import Testing

/// A producer of pages and their printer.
final class Press {
  let manager = PromiseManager(capacity: 2)
  private(set) var printed: [Int] = []
  private(set) var mostWaiting = 0

  func produce(_ pages: ClosedRange<Int>) async throws {
    for page in pages {
      try await manager.addWhenRoom { then in self.print(page) { then() } }
      mostWaiting = max(mostWaiting, manager.waitingCount)
    }
  }

  private func print(_ page: Int, completion: @escaping () -> Void) {
    MainActor.preconditionIsolated()
    Task {
      printed.append(page)
      completion()
    }
  }
}

struct ProducersTests {
  // Fails if the producer does not wait: all pages wait at once.
  @Test("a producer waits until the consumer has room")
  func press() async throws {
    let press = Press()
    try await press.produce(1...8)
    await press.manager.idle()
    #expect(press.printed == Array(1...8) && press.mostWaiting == 2)
  }
}
