import Foundation
@testable import SerialqQueue
@testable import SerialqSystem
import TestSupport
import Testing

/// The standard input of jobs.
@Suite final class JobInputTests: SceneSuite {
  private func copies() throws -> [String] {
    try FileSystem.names(in: scene.queueFolder().inputs).map(\.text).sorted()
  }

  // Fails if the limit is that of the file, or the copy of a refused job stays.
  @Test("more than the limit is refused, and nothing is queued or left")
  func limit() throws {
    let big = try scene.script(
      "truncate -s \(InputCopy.limit + 1) big && serialq add -i - cat <big")
    expectRefusal(big, "standard input: it has more than 1G, the most that is copied")
    #expect(try copies() == [])
    let folder = try scene.queueFolder()
    try write(Bytes(repeating: 7, count: 300_000), to: scene.path("data"))
    let data = try FileDescriptor.open(scene.path("data"), .read, followingLinks: true)
    #expect(throws: Failure.self) { try InputCopy(of: data, in: folder, atMost: 299_999) }
    // While it is copied: a pipe has no size.
    let target = try FileDescriptor.open(scene.path("target"), .emptied)
    #expect(try !data.copyAll(to: target, atMost: 299_999))
    let again = try FileDescriptor.open(scene.path("data"), .read, followingLinks: true)
    #expect(try again.copyAll(to: target, atMost: 300_000))
    #expect(try copies() == [])
    // Refused in the paused queue, after the copy.
    #expect(try scene.serialq("pause").code == 0)
    let refused = try scene.serialq("run", "-i", "-", "cat") { $0.input = Bytes("data") }
    expectRefusal(refused, "queue default: it is paused")
    #expect(try copies() == [])
  }

  #if os(Linux)
    // Fails if the error is ignored, or a part of the copy stays.
    @Test(
      "a copy that cannot be written is refused, and nothing is queued or left",
      .enabled(if: !isSanitized, "a sanitizer does not start within such a limit"))
    func unwritable() throws {
      try scene.add("true")
      let outcome = try scene.script(
        "ulimit -f 200; head -c 10000000 /dev/zero | serialq add -i - cat")
      #expect(outcome.code == 125)
      #expect(outcome.errorText.contains("File too large"), "\(outcome.errorText)")
      #expect(try copies() == [])
      #expect(try scene.queue().jobs.count == 1)
    }
  #endif

  // Fails if the file of a killed add stays, or that of one that is alive is deleted.
  @Test("what a killed add leaves is deleted, but not the copy that another is writing")
  func killed() throws {
    try scene.add("true")
    let folder = try scene.queueFolder().inputs
    func start() throws -> LaunchedProgram {
      try scene.start("add", "--no-start", "-i", "-", "cat") { $0.prelude = "exec <>gate" }
    }
    let killed = try start()
    try waitUntil("a first copy", watching: [folder]) { try copies().count == 1 }
    _ = try killed.end(SIGKILL)
    let alive = try start()
    try waitUntil("a second copy", watching: [folder]) { try copies().count == 2 }
    #expect(try scene.serialq("clean").code == 0)
    #expect(try copies() == [".new-\(alive.pid)"])
    #expect(try scene.queue().jobs.count == 1)
  }
}
