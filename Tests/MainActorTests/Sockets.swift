import SerialPromises
import Testing

/// A connection whose answers do not name their requests.
final class Connection {
  var receive: ((String) -> Void)?

  func send(_ request: String) {
    Task { receive?("\(request)!") }
  }
}

final class Chat {
  private let managers = KeyedPromiseManagers<String>()
  private var connections = ["a": Connection(), "b": Connection()]

  func ask(_ host: String, _ question: String) -> Promise<String> {
    let answer = Promise { resolve, _ in
      self.connections[host]?.receive = { text in resolve("\(host): \(text)") }
      self.connections[host]?.send(question)
    }
    managers[host].add(answer)
    return answer
  }
}

struct SocketsTests {
  // Fails if two requests of a host overlap: both take the first answer, or the second receiver.
  @Test("each connection has one request in flight")
  func chat() async throws {
    let chat = Chat()
    let answers = ["a", "b"].flatMap { host in ["1", "2"].map { chat.ask(host, $0) } }
    #expect(try await when(answers).value == ["a: 1!", "a: 2!", "b: 1!", "b: 2!"])
  }
}
