import Testing

@testable import SerialPromises

private let fetched = Log<String>()

private func fetch(_ name: String, _ completion: @Sendable ((any Error)?) -> Void) {
  fetched.append(name)
  completion(nil)
}

struct Download: Promisable {
  let name: String
  var handler: Handler {
    { then in fetch(name) { error in then(error) } }
  }
}

/// The examples in the documentation comments, with stand-ins for the work.
struct DocumentationExamples {

  private func upload(_ completion: @Sendable ((any Error)?) -> Void) { completion(nil) }

  private func upload(_ file: String, _ completion: @Sendable ((any Error)?) -> Void) {
    completion(nil)
  }

  private func fetchUser() async throws -> String { "Ada" }

  // Fails if a custom type is not accepted as a step.
  @Test("any type can be a step")
  func download() async throws {
    let manager = PromiseManager()
    let handle = manager.add(Download(name: "a"))
    try await handle.outcome.get()
    #expect(fetched.all == ["a"])
  }

  // Fails if a named step, or one that passes an error on, does not succeed.
  @Test("a step created from a closure can have a name")
  func named() async throws {
    let (manager, file) = (PromiseManager(), "file")
    manager.add(Step("upload") { then in upload { error in then(error) } })
    manager.add { then in upload(file) { error in then(error) } }
    await manager.idle()
    #expect(manager.failure == nil)
  }

  // Fails if `run` does not return the value of the work.
  @Test("run returns the value of the work")
  func run() async throws {
    let manager = PromiseManager()
    let user = try await manager.run { try await fetchUser() }
    #expect(user == "Ada")
  }

  // Fails if the manager's own diagnostics handler is not used.
  @Test("diagnostics can be sent to a log")
  func diagnostics() {
    let log = Log<String>()
    let logging = DiagnosticHandler { log.warning("\($0)") }
    let manager = PromiseManager(diagnostics: logging)
    manager.add { then in
      then()
      then()
    }
    #expect(log.all.count == 1)
  }
}
