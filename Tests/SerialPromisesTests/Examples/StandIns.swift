@testable import SerialPromises

/// The functions that the examples call, as short as possible, and a log of the calls.
protocol StandIns: Sendable {
  var log: Log<String> { get }
}

struct User: Sendable, Equatable { var name = "Ada" }
struct Missing: Error, Equatable {}
struct TooSlow: Error {}

/// A transfer that runs until it is stopped.
final class Transfer: Sendable {
  private let completion: @Sendable ((any Error)?) -> Void

  init(_ file: String, _ completion: @escaping @Sendable ((any Error)?) -> Void) {
    self.completion = completion
  }

  func stop() { completion(CancellationError()) }
}

/// A view on the screen.
@MainActor
final class Label: Sendable {
  var text = ""
  nonisolated init() {}
}

extension Log<String> {
  func warning(_ text: String) { append(text) }
}

extension StandIns {
  var file: String { "photo" }
  var url: String { "page" }
  var urls: [String] { ["a", "b"] }
  var mirror: String { "missing" }
  var origin: String { "origin" }

  func show<Shown: Sendable>(_ shown: Shown) { log.append("\(shown)") }

  // MARK: With callbacks

  func download(_ completion: @escaping @Sendable () -> Void) {
    show("download")
    completion()
  }

  func upload(_ completion: @escaping @Sendable ((any Error)?) -> Void) {
    show("upload")
    completion(nil)
  }

  func upload(_ file: String, _ completion: @escaping @Sendable ((any Error)?) -> Void) {
    show("upload \(file)")
    completion(file == "missing" ? Missing() : nil)
  }

  func ask(_ completion: @escaping @Sendable (Int) -> Void) { completion(42) }

  func fetchName(_ completion: @escaping @Sendable (String?, (any Error)?) -> Void) {
    completion(nil, Missing())
  }

  // MARK: Asynchronous

  func load(_ url: String) async throws -> String {
    if url == "missing" { throw Missing() }
    return "text of \(url)"
  }

  func fetchUser() async throws -> User { User() }
  func refresh(_ user: User) async throws -> User { user }
  func isOffline() async -> Bool { false }

  // MARK: With promises

  func login() -> Promise<User> { Promise { User() } }
  func fetch(_ url: String) -> Promise<String> { Promise { try await load(url) } }
  func fetchAvatar(of user: User) -> Promise<String> { .value("\(user.name).png") }

  // MARK: Synchronous

  func parse(_ text: String) throws -> Int { text.count }
  func checksum(_ file: String) -> Int { file.utf8.count }
}
