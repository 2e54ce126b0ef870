import Foundation
@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// Limits of other queues, tested on this one.
@Suite struct PeerLimitsTests {
  #if os(Linux)
    // tsp: the 994th add hangs forever.
    // Fails if an add leaves a process or a connection behind for as long as its job waits.
    @Test("a thousand adds, each by its own process, leave only waiting jobs")
    func manyAdds() throws {
      let scene = try Scene()
      let gate = try Gate(scene)
      let blocked = try block(scene)
      for hundred in 0..<(isLong ? 50 : 10 / ease) {
        let adds = try scene.script("for i in $(seq 100); do serialq add true || exit; done")
        #expect(adds.code == 0 && adds.errors.isEmpty, "\(adds.errorText)")
        #expect(adds.text == (1...100).map { "\(hundred * 100 + $0 + 1)\n" }.joined())
      }
      try checkIsFlat(scene, blocked)
      withExtendedLifetime(gate) {}
    }

    // nq: 9,000 waiting jobs take 18,000 processes and quadratic time.
    // Fails if a waiting job has its own process, descriptor, thread or file.
    @Test("nine thousand waiting jobs use no process, no descriptor, no thread and no file")
    func manyWaiting() throws {
      let count = 9_000 / ease
      let scene = try Scene()
      let gate = try Gate(scene)
      let blocked = try block(scene)
      let added = try scene.serialq("add", "-f", "-") {
        $0.input = Bytes(String(repeating: "true\n", count: count).utf8)
      }
      #expect(added.text == "2-\(count + 1)\n" && added.code == 0)
      try checkIsFlat(scene, blocked)
      if isLong {
        try gate.open()
        #expect(try scene.serialq("wait").code == 0)
        #expect(try scene.queue().count(.succeeded) == count + 1)
      }
      withExtendedLifetime(gate) {}
    }

    /// Blocks a job at the gate; returns its process and its runner.
    private func block(_ scene: Scene) throws -> (job: Int32, runner: Int32) {
      #expect(try scene.serialq("add", "read x <gate").code == 0)
      return (try scene.waitForProcess(of: 1), try scene.waitForRunner())
    }

    /// Only the runner and its one job exist.
    private func checkIsFlat(_ scene: Scene, _ blocked: (job: Int32, runner: Int32)) throws {
      #expect(try scene.processes() == [blocked.runner, blocked.job])
      #expect(try scene.holdings(of: blocked.runner) < 100)
      let folder = try scene.queueFolder()
      for path in [folder.logs, folder.locks] {
        #expect(try FileSystem.names(in: path) == [Bytes("1")])
      }
    }

    // pueue: kill leaves grandchildren.
    // Fails if only the job's own process is signalled, or its end is reported while others are
    // alive.
    @Test("cancel ends a job's children and grandchildren before the job is reported as over")
    func grandchildren() throws {
      let scene = try Scene()
      let line = "sh -c 'sleep 1000 & sh -c \"sleep 1000 & echo up; wait\" & wait'; true"
      #expect(try scene.serialq("add", line).code == 0)
      try scene.waitForLog(1, "up")
      let job = try scene.waitForProcess(of: 1)
      let group = { try scene.processes().filter { getpgid($0) == job } }
      // The two sleeping processes may still be before their exec.
      #expect(try group().count >= 3)
      #expect(try scene.serialq("cancel", "1").code == 0)
      #expect(try scene.serialq("wait", "1").code != 0)
      #expect(try scene.states() == [.cancelled])
      #expect(try group() == [])
    }
  #endif

  // nq, tsp: `'a && b'` as one argument is "not found".
  // Fails if a single argument is treated as the name of a program.
  @Test("'a && b' as one argument is a command line")
  func commandLine() throws {
    let scene = try Scene()
    let added = try scene.script("serialq add 'cd / && echo \"$(pwd)  here\" | tr a-z A-Z'")
    #expect(added.text == "1\n")
    #expect(try scene.serialq("wait", "1").code == 0)
    #expect(try scene.log(1) == Bytes("/  HERE\n"))
  }

  // nq: queued inside `while read`, jobs consume the loop's input.
  // Fails if a runner or a job keeps the standard input of the add.
  @Test("jobs that are queued and run inside `while read` do not consume the loop's input")
  func loop() throws {
    let scene = try Scene()
    let loop = """
      printf '%s\\n' a b c d | while read word; do
        serialq add "echo $word; cat" && serialq wait
      done
      """
    let outcome = try scene.script(loop)
    #expect(outcome.text == "1\n2\n3\n4\n" && outcome.errorText == "")
    for (id, word) in zip(1..., ["a", "b", "c", "d"]) {
      #expect(try scene.log(id) == Bytes("\(word)\n".utf8))
    }
  }

  /// Every byte that an argument can hold, alone and together, and text that is special to shells.
  private static let words =
    ExactWordsTests.words + (1...255).map { [$0] } + [
      Bytes(" lead"), Bytes("trail "), Bytes("\u{1}2"),
    ]

  // tsp: a saved list is restored without its quoting.
  // Fails if `list` quotes for reading and not for the shell.
  @Test(
    "a saved list, read by a shell, queues identical arguments, whatever bytes they hold",
    .needs(.bash))
  func savedList() throws {
    let scene = try Scene()
    try addWords(scene)
    let script = try scene.listedCommands().map { "serialq add --no-start -q again -- \($0)\n" }
    try write(Bytes(script.joined().utf8), to: scene.path("saved"))
    #expect(try scene.script("exec bash ./saved").code == 0)
    try checkIsSame(scene)
  }

  // As above, for programs: fails if a byte is lost where text that is not UTF-8 is escaped.
  @Test("a saved list --json queues identical arguments and command lines")
  func savedJSON() throws {
    let scene = try Scene()
    try addWords(scene)
    let line = Bytes("echo '\u{1}\n") + [0xFF] + Bytes("' && echo \"a  b\"")
    #expect(try scene.serialq([Bytes("add"), Bytes("--no-start"), Bytes("-c"), line]).code == 0)
    for job in try scene.listed() {
      let words =
        (job["command"] as? [String]).map { ["--"] + $0 }
        ?? (job["shell"] as? String).map { ["-c", $0] }
      let add = [Bytes("add"), Bytes("--no-start"), Bytes("-q"), Bytes("again")]
      #expect(try scene.serialq(add + #require(words).map(Scene.bytes(ofJSON:))).code == 0)
    }
    try checkIsSame(scene)
  }

  private func addWords(_ scene: Scene) throws {
    let print = [Bytes("add"), Bytes("--no-start"), Bytes("--"), Bytes("printf"), Bytes("%s\\0")]
    #expect(try scene.serialq(print + Self.words).code == 0)
    for word in ExactWordsTests.words.eased() {
      #expect(try scene.serialq(print + [word]).code == 0)
    }
  }

  private func checkIsSame(_ scene: Scene) throws {
    let commands = try scene.queue().jobs.map(\.command)
    #expect(commands.count > ExactWordsTests.words.eased().count)
    #expect(try scene.queue("again").jobs.map(\.command) == commands)
    let expected = Bytes(Self.words.map { $0 + [0] }.joined())
    #expect(try scene.serialq("run", "-q", "again").output.starts(with: expected))
  }

  // All: failures have to be searched for in the log.
  // Fails if the failure, the end of its output or a useful command is not shown.
  @Test("serialq alone shows what failed, the end of its output, and the commands to type next")
  func bare() throws {
    let scene = try Scene()
    let job = "for i in 1 2 3 4; do echo line $i; done; echo 'a.c:12: error' >&2; exit 2"
    #expect(try scene.serialq("add", "-n", "build", job).code == 0)
    #expect(try scene.serialq("add", "echo fine").code == 0)
    #expect(try scene.serialq("wait").code == 1)
    let reported = try scene.serialq()
    let lines = reported.text.split(separator: "\n", omittingEmptySubsequences: false).map(
      String.init)
    #expect(reported.code == 0 && reported.errorText == "")
    #expect(lines[0] == "Job 1: build: \(job)")
    #expect(lines[1].hasPrefix("  failed with exit code 2 after "))
    #expect(lines[2...4] == ["  | line 3", "  | line 4", "  | a.c:12: error"])
    #expect(lines[6] == "No job is running or waiting: 1 succeeded, 1 failed.")
    let advice = [
      "See why:       serialq log 1", "Run again:     serialq retry 1",
      "Mark as seen:  serialq ack 1", "",
    ]
    #expect(Array(lines.dropFirst(8)) == advice, "\(reported.text)")
    #expect(try scene.serialq("log", "1").text.hasSuffix("line 4\na.c:12: error\n"))
    #expect(try scene.serialq("ack", "1").code == 0)
    #expect(try scene.serialq().text == "No job is running or waiting: 1 succeeded, 1 failed.\n")
  }
}
