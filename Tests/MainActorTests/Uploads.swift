import SerialPromises
import Testing

/// Two of three attempts fail.
final class Server {
  struct Busy: Error {}

  private(set) var files: [String] = []
  private(set) var attempts = 0

  func put(_ file: String) async throws -> Int {
    attempts += 1
    await Task.yield()
    if !attempts.isMultiple(of: 3) { throw Busy() }
    files.append(file)
    return files.count
  }
}

final class Uploader {
  let server = Server()
  let manager = PromiseManager()
  private(set) var status = ""

  func upload(_ file: String) -> Promise<Void> {
    let upload = Promise { try await self.server.put(file) }.retry(2)
    manager.add(upload)
    return upload.map { count in self.status += "\(count) \(file) " }
  }
}

struct UploadsTests {
  // Fails if an upload ends after its first failure, or begins during the other.
  @Test("uploads are attempted again, and stay in order")
  func uploads() async throws {
    let uploader = Uploader()
    _ = try await when(uploader.upload("a"), uploader.upload("b")).value
    #expect(uploader.server.files == ["a", "b"] && uploader.server.attempts == 6)
    #expect(uploader.status == "1 a 2 b ")
  }
}
