@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// Larger loads than in practice; with `SERIALQ_LONG=1`, much larger.
@Suite final class LoadTests: SceneSuite {
  // Fails if one job is listed, counted or canceled for another, or if a runner uses more memory
  // than allowed for the waiting ones.
  @Test("a hundred thousand waiting jobs are listed, counted, reordered and canceled")
  func waitingJobs() throws {
    let count = isLong ? 100_000 : 1_000 / ease
    #expect(try scene.serialq("add", "read x <gate").code == 0)
    let added = try scene.serialq("add", "-f", "-") {
      $0.input = Bytes(String(repeating: "exit 7\n", count: count - 1).utf8)
    }
    #expect(added.text == "2-\(count)\n" && added.errorText == "")
    _ = try scene.serialq("add", "echo last")
    _ = try scene.waitForProcess(of: 1)
    #expect(try scene.serialq("move", "\(count + 1)", "--first").code == 0)
    let list = try scene.serialq("list").text.split(separator: "\n")
    #expect(list.count == count + 2 && list[2].hasSuffix("echo last"))
    #expect(try scene.serialq("status").text.contains("\(count) waiting"))
    #expect(try scene.serialq("cancel", "2-\(count)").code == 0)
    #if os(Linux)
      let status = try content(Bytes("/proc/\(try scene.waitForRunner())/status".utf8)).text
      let peak = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
      // Forty megabytes, in the unit of that file.
      #expect(Int(peak.filter(\.isNumber)).map { $0 <= 40 << 10 } == true || isSanitized, "\(peak)")
    #endif
    try gate.open()
    #expect(try scene.serialq("wait").code == 0)
    #expect(try scene.log(count + 1).text == "last\n")
    let queue = try scene.queue()
    #expect(queue.count(.succeeded) == 2 && queue.count(.cancelled) == count - 1)
  }

  #if os(Linux)
    // Fails if a line is cut, or a line that is too long for the system is not reported as such:
    // add refuses it with a short message, and one from elsewhere fails when it runs.
    @Test("a command line at the system's limit runs; one byte more is reported as too long")
    func commandLine() throws {
      // The limit of an argument on Linux, and on no other system: 32 pages, including the final
      // NUL.
      let limit = 32 * sysconf(Int32(_SC_PAGESIZE)) - 1
      let start = "echo $((1 + 1)) #"
      let line = start + String(repeating: "x", count: limit - start.utf8.count)
      #expect(line.utf8.count == limit)
      try scene.add(line, "true", "echo after")
      let refused = try scene.serialq("add", "--no-start", "-f", "-") {
        $0.input = Bytes((line + "x").utf8)
      }
      #expect(refused.code == 125 && refused.errorText.contains(": it is too long: "))
      #expect(try refused.errors.count < 500 && scene.states().count == 3)
      var tooLong = try #require(try scene.queue().job(2)).spec
      tooLong.command = .shell(Bytes((line + "x").utf8))
      try scene.write(.edit(2, tooLong))
      let run = try scene.serialq("run")
      #expect(run.text.hasPrefix("2\n") && run.text.hasSuffix("\nafter\n") && run.code == 1)
      let shown = try scene.serialq("show", "2").text
      #expect(shown.contains("could not be run (126)") && shown.contains("Argument list too long"))
      #expect(try scene.queue().job(1)?.command == .shell(Bytes(line.utf8)))
    }
  #endif

  // Fails if a buffer limits the environment.
  @Test("a job receives ten thousand variables")
  func variables() throws {
    let variables = (1...10_000).map { Bytes("VARIABLE_\($0)=value number \($0)".utf8) }
    let added = try scene.serialq("add", "--no-start", "-c", "env -0") {
      $0.environment += variables
    }
    #expect(added.code == 0 && added.errorText == "")
    let found = try scene.serialq("run").output.split(separator: 0).map { Bytes($0) }
    #expect(Set(found).isSuperset(of: variables))
  }

  // Fails if waiters are refused, or are not notified, when the system has no file watches left:
  // Linux allows a user 128 of inotify.
  @Test("two hundred waiters and fifty followers are all notified")
  func audience() throws {
    let (waiters, followers) = isLong ? (200, 50) : (20, 5)
    #expect(try scene.serialq("add", "echo start; read x <gate; echo end; exit 3").code == 0)
    let waiting = try (0..<waiters).map { _ in try scene.start("wait", "1") }
    let following = try (0..<followers).map { _ in try scene.start("log", "-f", "1") }
    for follower in following { try follower.waitForOutput("start\n") }
    // The runner of another queue is one more.
    #expect(try scene.serialq("add", "-q", "late", "true").code == 0)
    #expect(try scene.serialq("wait", "-q", "late").code == 0)
    try gate.open()
    for waiter in waiting {
      let outcome = try waiter.wait()
      #expect(outcome.code == 3, "\(outcome.errorText)")
    }
    for follower in following {
      let outcome = try follower.wait()
      #expect(outcome.code == 0 && outcome.text == "start\nend\n")
    }
  }
}
