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

  // Fails if the file is opened relative to -C, or before the job runs, or an attempt continues
  // where the last one stopped.
  @Test("--input is the standard input of each attempt, relative to the caller's directory")
  func file() throws {
    try write(Bytes("old\n"), to: scene.path("data"))
    let words = ["-i", "data", "-C", "/", "--retries", "1", "cat; read x || exit 1"]
    #expect(try scene.serialq(["add", "--no-start"] + words).code == 0)
    try write(Bytes("new\n"), to: scene.path("data"))
    #expect(try scene.serialq("run").text == "new\nnew\n")
    let path = scene.path("data").text
    #expect(try scene.serialq("show", "1").text.contains("\ninput      \(path)\n"))
    #expect(try scene.listed()[0]["input"] as? String == path)
    #expect(try scene.serialq("run", "-i", path, "cat").text == "new\n")
    // Every job of a file reads all of it.
    try write(Bytes("cat\nwc -l\n"), to: scene.path("jobs"))
    #expect(try scene.serialq("run", "-i", "data", "-f", "jobs").text == "new\n1\n")
    #expect(try scene.serialq("run", "cat").text == "")
    #expect(try scene.listed()[4]["input"] is NSNull)
  }

  // Fails if the warning is missing, the job runs without input, or the runner blocks or fails.
  @Test("an input that is missing or no file when the job runs is a failure of the job")
  func missing() throws {
    try scene.add("echo late >late")
    let late = try scene.serialq("add", "--no-start", "-i", "late", "cat")
    #expect(late.code == 0)
    #expect(late.errorText.contains("/late: no such file yet\nThe job fails unless"))
    #expect(try scene.serialq("add", "--no-start", "-i", "none", "cat").code == 0)
    try write([], to: scene.path("fifo"))
    #expect(try scene.serialq("add", "--no-start", "-i", "fifo", "cat").code == 0)
    try FileSystem.remove(scene.path("fifo"))
    _ = try Gate(scene, "fifo")
    let run = try scene.serialq("run")
    #expect(run.code == 1 && run.text.hasPrefix("late\n"))
    #expect(try scene.states() == [.succeeded, .succeeded, .failed, .failed])
    let reasons = try [3, 4].map { try scene.log($0).text }
    #expect(reasons[0].hasPrefix("serialq: opening the input "))
    #expect(reasons[0].contains("/none: No such file"))
    #expect(reasons[1].contains("/fifo: it is not a regular file"))
    #expect(try scene.queue().job(3)?.exitCode == 125)
  }

  // Fails if the copy is readable by others, changes with the file, is deleted before a retry can
  // need it, or is kept longer.
  @Test("--input - copies standard input, and keeps the copy until the job is removed")
  func copy() throws {
    let added = try scene.script("seq 1 100000 | serialq add --no-start -e A=2 -i - 'cat; exit $A'")
    #expect(added.text == "1\n" && added.errorText == "")
    let path = try scene.queueFolder().inputCopy(1)
    #expect(try FileSystem.status(of: path)?.mode == 0o600)
    #expect(try scene.listed()[0]["input"] as? String == path.text)
    let numbers = (1...100_000).map { "\($0)\n" }.joined()
    #expect(try scene.serialq("run").text == numbers)
    #expect(try scene.serialq("retry", "1").code == 0)
    #expect(try scene.serialq("wait", "1").code == 2)
    #expect(try scene.log(1).text == numbers)
    #expect(try scene.serialq("clean").code == 0)
    #expect(try copies() == ["1"])
    #expect(try scene.serialq("clean", "--all").code == 0)
    #expect(try copies() == [])
    let run = try scene.serialq("run", "-i", "-", "cat") { $0.input = [0, 1, 0xFF] }
    #expect(run.output == [0, 1, 0xFF])
  }

  // Fails if one job deletes the copy that another needs, or `keep` leaves it.
  @Test("jobs that are added together share a copy, which the last of them deletes")
  func shared() throws {
    #expect(try scene.serialq("set", "keep", "1").code == 0)
    try write(Bytes("cat >>rec\nwc -l >>rec\n"), to: scene.path("jobs"))
    let words = ["add", "--no-start", "-i", "-", "-f", "jobs"].map { Bytes($0.utf8) }
    #expect(try scene.serialq(words) { $0.input = Bytes("a\nb\n") }.text == "1-2\n")
    try scene.add("true", "true")
    #expect(try scene.serialq("run").code == 0)
    #expect(try content(scene.path("rec")) == Bytes("a\nb\n2\n"))
    #expect(try scene.queue().jobs.map(\.id) == [4])
    #expect(try copies() == [])
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
        "\(Scene.smallFiles) head -c 10000000 /dev/zero | serialq add -i - cat")
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
