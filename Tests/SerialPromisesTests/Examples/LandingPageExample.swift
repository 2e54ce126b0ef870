import Testing

@testable import SerialPromises

/// The first example of the documentation, with stand-ins for the work.
struct LandingPageExample {
  private let done = Log<String>()

  private func download(_ completion: @Sendable () -> Void) {
    done.append("download")
    completion()
  }

  private func upload(_ completion: @Sendable ((any Error)?) -> Void) {
    done.append("upload")
    completion(nil)
  }

  private func fetch() async throws -> Int {
    done.append("fetch")
    return 42
  }

  // Fails if steps do not run in the order of addition.
  @Test("the steps of the landing page run in order")
  func steps() async throws {
    let manager = PromiseManager()
    manager.add { then in download { then() } }
    manager.add("upload") { then in upload { error in then(error) } }
    let value = try await manager.run { try await fetch() }
    await manager.idle()
    #expect(value == 42)
    #expect(done.all == ["download", "upload", "fetch"])
  }
}
