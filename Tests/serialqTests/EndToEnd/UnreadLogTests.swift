import SerialqQueue
@testable import SerialqSystem
import SerialqWatch
import TestSupport
import Testing

/// Followers of jobs whose logs are removed, cut or replaced before they are printed.
@Suite final class UnreadLogTests: SceneSuite {
  /// More than a pipe holds.
  private static let long = "yes | head -n 100000"
  private static let y = String(repeating: "y\n", count: 100_000)
  private static let numbers = (1...1_000).map { "\($0)\n" }.joined()

  /// A follower whose reader waits at a gate, so that it prints no more than a part of job 1.
  private func slowFollower() throws -> (program: LaunchedProgram, pager: Gate) {
    let pager = try Gate(scene, "pager")
    let script = "serialq log -f -n all | { read x <pager; cat; }"
    let program = try scene.launch(["/bin/sh", "-c", script])
    return (try program.waitForErrors("has no active runner"), pager)
  }

  /// A follower that prints no more than a part of job 1, and is to be killed.
  private func stoppedFollower() throws -> (program: LaunchedProgram, reader: Gate) {
    let reader = try Gate(scene, "reader")
    // In place of the shell: when the program has been waited for, its locks are released.
    let program = try scene.launch(["/bin/sh", "-c", "exec serialq log -f -n all >reader"])
    return (try program.waitForErrors("has no active runner"), reader)
  }

  private func keptLogs() throws -> [String] {
    try FileSystem.names(in: scene.queueFolder().locks).map(\.text).filter { $0.hasSuffix(".log") }
      .sorted()
  }

  // Fails if a log is not retained from before the journal is read, or left when it was printed, or
  // if only the last attempt is printed: do not lock in `UnreadLogs.retain`, or remove nothing in
  // `release`.
  @Test("a slow follower prints all output of jobs that are removed, cut or queued again meanwhile")
  func slow() throws {
    for words in [["keep", "1"], ["log-limit", "1K"]] {
      #expect(try scene.serialq(["set"] + words).code == 0)
    }
    try scene.add(
      Self.long, "echo second; seq 1000", "echo third; seq 1000; [ -e ok ]", "echo last; seq 1000")
    let (follower, pager) = try slowFollower()
    let (other, reader) = try stoppedFollower()
    #expect(try scene.serialq("run").code == 1)
    try write([], to: scene.path("ok"))
    #expect(try scene.serialq("retry", "3").code == 0)
    #expect(try scene.serialq("wait", "3").code == 0)
    // The files are renamed after the end is recorded.
    try scene.waitForNoRunner()
    #expect(try scene.queue().jobs.map(\.id) == [3])
    #expect(try keptLogs() == ["1.1.log", "2.1.log", "3.1.log", "3.2.log", "4.1.log"])
    // It retains nothing any more.
    _ = try other.end(SIGKILL)
    withExtendedLifetime(reader) {}
    try pager.open()
    let outcome = try follower.wait()
    let names = ["second", "third", "last", "third"]
    #expect(outcome.text == Self.y + names.map { "\($0)\n\(Self.numbers)" }.joined())
    #expect(!outcome.errorText.contains("removed"), "\(outcome.errorText)")
    #expect(try keptLogs() == [])
  }

  // Fails if the kept logs of a killed follower stay: do not call `removeKeptLogs` in `Recovery`.
  @Test("the next runner removes what is kept for a follower that was killed")
  func killed() throws {
    #expect(try scene.serialq("set", "keep", "1").code == 0)
    try scene.add(Self.long, "echo second", "echo last")
    let (follower, reader) = try stoppedFollower()
    #expect(try scene.serialq("run").code == 0)
    _ = try follower.end(SIGKILL)
    withExtendedLifetime(reader) {}
    #expect(try keptLogs() == ["1.1.log", "2.1.log"])
    #expect(try scene.serialq("run", "true").code == 0)
    #expect(try keptLogs() == [])
  }

  // Fails if what is left of a read of the journal is dropped with the first failure: a run with a
  // shortage of descriptors continues afterwards. Do not keep it in `Follower.pending`.
  @Test("what a follower could not print, because a log could not be opened, is printed later")
  func printedLater() throws {
    try scene.add("first", "second")
    let folder = try scene.queueFolder()
    var follower = try Follower(folder, .plain)
    let end = Act.end(1, .exited(0), duration: 0)
    try scene.write(.start(1), end, .start(2), .end(2, .exited(0), duration: 0))
    let target = scene.path("target")
    let linked = target.withCString { to in
      folder.log(1).withCString { symlink(to, $0) }
    }
    #expect(linked == 0)
    try write(Bytes("second\n".utf8), to: folder.log(2))
    let printed = try FileDescriptor.open(scene.path("printed"), .log)
    var output = Output(results: printed.raw)
    #expect(throws: Failure.self) { try follower.advance(&output) }
    try FileSystem.remove(folder.log(1))
    try write(Bytes("first\n".utf8), to: folder.log(1))
    try follower.advance(&output)
    #expect(try content(scene.path("printed")).text == "first\nsecond\n")
  }

  // Fails in most rounds of a few: remove logs in `removeLogs`, or cut them in `limitLog`, at once.
  @Test(
    "however a queue is followed, no output is missing", arguments: ["keep 1", "log-limit 1K"])
  func rounds(setting: String) throws {
    let count = isLong ? 300 : 60 / ease
    let jobs = (1...count).map { "echo \($0); seq 500" }
    let numbers = (1...500).map { "\($0)\n" }.joined()
    let expected = (1...count).map { "\($0)\n\(numbers)" }.joined()
    for _ in 0..<(isLong ? 20 : 2) {
      let queue = "q\(scene.nextNumber())"
      let words = setting.split(separator: " ").map(String.init)
      #expect(try scene.serialq(["set", "-q", queue] + words).code == 0)
      let adding = try scene.serialq("add", "-q", queue, "--no-start", "-f", "-") {
        $0.input = Bytes(jobs.map { "\($0)\n" }.joined().utf8)
      }
      #expect(adding.code == 0)
      let follower = try scene.start("log", "-f", "-n", "all", "-q", queue)
      _ = try follower.waitForErrors("has no active runner")
      let run = try scene.serialq("run", "-q", queue)
      #expect(run.text == expected && run.code == 0, "\(run.errorText)")
      let followed = try follower.wait()
      #expect(followed.text == expected && followed.code == 0, "\(followed.errorText)")
    }
  }
}
