import Dispatch
import Testing

@testable import SerialPromises

/// Promises over a real connection, to a server that the test starts.
struct HTTPExample {
  // Fails if responses are mixed up, requests overlap in the wrong order, or an error is lost.
  @Test("requests to an HTTP server, one at a time and together")
  func requests() async throws {
    let server = try LoopbackServer()
    defer { server.close() }
    let get = { @Sendable (path: String) in
      Promise.on(.global()) { try server.get(path) }
    }

    let chained = get("/user").then { user in get(user + "/friends") }
    #expect(try await chained.value == "/user/friends")

    let pages = when(["/a", "/b", "/c"].lazy.map { path in get(path) }, concurrently: 2)
    #expect(try await pages.value == ["/a", "/b", "/c"])

    let missing = get("/missing").recover { _ in get("/found") }
    #expect(try await missing.value == "/found")

    let manager = PromiseManager()
    let first = try await manager.run { try await get("/first").value }
    let second = try await manager.run { try await get("/second").value }
    #expect([first, second] == ["/first", "/second"])
  }
}
