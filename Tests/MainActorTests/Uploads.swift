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

  /// Reports how many of the parts are sent, from a function that is not of an actor.
  func upload(parts: Int) -> Promise<Void> {
    manager.enqueue {
      for part in 1...parts {
        await Task.yield()
        self.status += "\(part)"
        sent(part, of: parts)
      }
    }
  }

  func upload(_ file: String) -> Promise<Void> {
    let upload = Promise { try await self.server.put(file) }.retry(2)
    manager.add(upload)
    return upload.map { count in self.status += "\(count) \(file) " }
  }
}

nonisolated func sent(_ part: Int, of parts: Int) {
  reportProgress(Double(part) / Double(parts))
}

struct UploadsTests {
  // Fails if work of the main actor does not report, or its listener is not called there.
  @Test("work of the main actor reports its progress")
  func progress() async throws {
    let uploader = Uploader()
    let upload = uploader.upload(parts: 4)
    var progress: [Double] = []
    upload.progressed { progress.append($0) }
    try await upload.value
    #expect(uploader.status == "1234" && uploader.manager.progress == 1)
    try await upload.map { #expect(progress == [0.25, 0.5, 0.75, 1]) }.value
  }

  // Fails if an upload ends after its first failure, or begins during the other.
  @Test("uploads are attempted again, and stay in order")
  func uploads() async throws {
    let uploader = Uploader()
    _ = try await when(uploader.upload("a"), uploader.upload("b")).value
    #expect(uploader.server.files == ["a", "b"] && uploader.server.attempts == 6)
    #expect(uploader.status == "1 a 2 b ")
  }
}
