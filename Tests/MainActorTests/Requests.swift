import SerialPromises
import Testing

/// Requests that read, wait and write.
final class Account {
  private(set) var balance = 0
  private let manager = PromiseManager()

  func deposit(_ amount: Int) async throws {
    try await manager.withTurn { balance = await request(balance + amount) }
  }

  func withdraw(_ amount: Int) async throws -> Int {
    try await manager.run("withdraw") {
      MainActor.preconditionIsolated()
      self.balance = await self.request(self.balance - amount)
      return self.balance
    }
  }

  private func request(_ amount: Int) async -> Int {
    await Task.yield()
    return amount
  }
}

struct RequestsTests {
  // Fails if two turns overlap: a deposit is lost.
  @Test("requests of a view model take turns")
  func account() async throws {
    let account = Account()
    try await withThrowingTaskGroup { group in
      for amount in 1...10 { group.addTask { try await account.deposit(amount) } }
      try await group.waitForAll()
    }
    #expect(try await account.withdraw(5) == 50)
  }
}
