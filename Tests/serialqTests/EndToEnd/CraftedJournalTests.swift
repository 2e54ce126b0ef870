@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// Journals with right checksums that serialq did not write.
@Suite final class CraftedJournalTests: SceneSuite {
  private let never = "0000-01-01T00:00:00.000000Z"

  /// Appends lines without their places and sums.
  private func craft(_ lines: String..., to scene: Scene) throws {
    let journal = try FileDescriptor.open(scene.queueFolder().journal, .log)
    for line in lines {
      let end = Int(try journal.status().size)
      try journal.writeAll(JournalLine.summed(Bytes(line.utf8), at: end) + [UInt8(ascii: "\n")])
    }
  }

  // Fails if nanoseconds are counted from any date: all of these end by SIGILL.
  @Test("a job that has run since the year 0 is shown, and recovered")
  func dates() throws {
    #expect(try scene.serialq("add", "--no-start", "--timeout", "9", "true").code == 0)
    try craft(
      #"{"v":1,"run":1,"is":"running","attempts":1,"started":"\#(never)","boot":"b","uptime":1,"next":2"#,
      to: scene)
    for words in [["list"], ["status"], ["list", "--json"], ["report"]] {
      let outcome = try scene.serialq(words)
      #expect(outcome.status == .exited(0), "\(words) \(outcome.errorText)")
    }
    #expect(try scene.serialq("wait").status == .exited(1))
    #expect(try scene.states() == [.interrupted])
  }

  // Fails if the limit is used: the runner ends by SIGILL at the end of the job.
  @Test("a limit that set does not accept is refused", .needs(.flock))
  func logLimit() throws {
    try scene.add("head -c 9999 /dev/zero")
    try craft(#"{"v":1,"queue":true,"logLimit":9,"next":2"#, to: scene)
    let outcome = try scene.serialq("run")
    #expect(outcome.code == 125 && !outcome.errorText.contains("newer"), "\(outcome.errorText)")
    // What it says to do.
    let remedy = try #require(outcome.errorText.firstMatch(of: /: (flock .*)/)).1
    #expect(try scene.script("\(remedy)").code == 0)
    #expect(try scene.serialq("run").code == 0)
  }

  // Fails if the last line is trusted because its checksum is right, and so is the order of all:
  // the id of a waiting job is given out again, and its command is replaced; or a job that is gone
  // is not missed. Or if a line that stands too early counts at once: all lines before its place
  // are set aside.
  @Test(
    "lines that were copied, swapped or removed by hand are reported, and cost no other job",
    .shows(OnDisk.damage),
    arguments: [
      (
        edit: "cat j; sed -n 1p j", says: ["line 4 is not in its place"], kept: "1",
        runs: [1, 2, 3, 4]
      ),
      ("cat j j", ["line 4 and 2 more are not in their places"], "123", [1, 2, 3, 4]),
      ("tail -n 1 j; cat j", ["line 1 is not in its place"], "3", [1, 2, 3, 4]),
      ("sed -n '1p;3p' j; sed -n 2p j", ["line 2 is not in its place"], "3", [1, 2, 4]),
      ("sed 2d j", ["line 2 is intact, but lines before it are missing"], "", [1, 3, 4]),
    ])
  func rearranged(edit: String, says: [String], kept: String, runs: [JobID]) throws {
    for id in 1...3 {
      #expect(try scene.serialq("add", "--no-start", "echo \(id) >>rec").code == 0)
    }
    let (folder, lines) = (try scene.queueFolder(), try scene.journal().split(separator: 10))
    let edited = try scene.script(
      "cd '\(folder.path.text)' && cp journal j && { \(edit); } >k && cat k >journal && rm j k")
    #expect(edited.code == 0, "\(edited.errorText)")
    #expect(try scene.serialq("add", "--no-start", "echo 4 >>rec").code == 0)
    for command in ["list", "run"] {
      let outcome = try scene.serialq(command)
      for text in says { #expect(outcome.errorText.contains(text), "\(outcome.errorText)") }
    }
    #expect(try content(scene.path("rec")).text == runs.map { "\($0)\n" }.joined())
    #expect(try scene.serialq("list").errorText == "")
    let expected = kept.compactMap { $0.wholeNumberValue }.flatMap { lines[$0 - 1] + [10] }
    #expect(try (folder.hasDamagedLines() ? content(folder.damaged) : []) == expected)
  }

  // Fails if the ids of a range are counted one by one: the commands do not end.
  @Test("a range with more ids than there are jobs is cut to the jobs")
  func ranges() throws {
    try scene.add("true")
    let id = JobID.valid.upperBound
    try craft(
      #"""
      {"v":1,"job":\#(id),"added":"\#(never)","shell":"true","directory":"/","environment":"e",\#
      "umask":18,"requires":["1-\#(id - 1)"],"next":\#(id + 1)
      """#, #"{"v":1,"run":1,"is":"cancelled","at":"\#(never)","next":\#(id + 1)"#,
      #"{"v":1,"forgotten":["2-\#(id)"],"next":\#(id + 1),"paused":true"#, to: scene)
    let bounded: (inout LaunchOptions) -> Void = { $0.prelude = "ulimit -t 20" }
    let listed = try scene.serialq("list", "--json", change: bounded)
    #expect(listed.text.contains("\"after\":[1],"), "\(listed.errorText)")
    #expect(try scene.serialq("show", "\(id)", change: bounded).code == 0)
    expectRefusal(try scene.serialq("log", "-f", change: bounded), "queue default: it is paused")
  }

  // Fails if the ids that a skipped job requires are counted one by one: retry does not end.
  @Test("retry looks only at the jobs that exist")
  func retry() throws {
    try scene.add("true")
    #expect(try scene.serialq("pause").code == 0)
    #expect(try scene.serialq("cancel", "1").code == 0)
    let id = JobID.valid.upperBound
    try craft(
      #"""
      {"v":1,"job":\#(id),"added":"\#(never)","shell":"true","directory":"/","environment":"e",\#
      "umask":18,"requires":["2-\#(id - 1)"],"next":\#(id + 1),"paused":true
      """#,
      #"""
      {"v":1,"run":\#(id),"is":"skipped","because":7,"at":"\#(never)","next":\#(id + 1),\#
      "paused":true
      """#, to: scene)
    let retried = try scene.serialq("retry", "1") { $0.prelude = "ulimit -t 20" }
    #expect(retried.code == 0, "\(retried.errorText)")
    #expect(try scene.states() == [.waiting, .skipped])
  }

  private static let commands = [
    "list --json", "status", "status --json", "report", "report --html page", "show 1-12",
    "log -f 3",
    "ack --all", "retry --all", "move 12 --first", "clean --keep 9", "run", "start", "list",
  ]

  // Fails if anything that reads the queue traps: drop a limit of `JobStatus.code(_:)`, or that of
  // `Timestamp`.
  @Test("no value of a line ends a command or a runner by a trap")
  func extremes() throws {
    let seeds = isLong ? 1...400 : 2...2
    for seed in seeds {
      var random = RandomStates(seed: UInt64(seed))
      let scene = try Scene()
      try scene.add("exit 1")
      let context = try #require(try scene.queue().job(1)).context
      try Journal(scene.queueFolder()).append(
        (1...12).flatMap { id -> [Entry] in
          var details = random.spec().details
          details.input = nil
          let spec = JobSpec(
            .shell(Bytes("exit \(id % 2)".utf8)), in: context, details, added: .test)
          return [.job(id, spec), .status(id, random.harmlessStatus())]
        } + [.queue(random.harmlessProperties())])
      // Some of the jobs wait for a century.
      for words in Self.commands {
        let outcome = try scene.script("timeout 1 serialq \(words)")
        #expect(outcome.code < 128, "seed \(seed): \(words): \(outcome.code) \(outcome.errorText)")
      }
    }
    tally(seeds.count)
  }
}

extension RandomStates {
  /// Names no process that exists.
  fileprivate mutating func harmlessStatus() -> JobStatus {
    var status = status()
    guard case .running(var running) = status.phase else { return status }
    running.pid = running.pid.map { _ in Int32.max }
    status.phase = .running(running)
    return status
  }

  /// Has no commands.
  fileprivate mutating func harmlessProperties() -> QueueProperties {
    var properties = properties()
    (properties.settings.onFinish, properties.settings.onIdle, properties.settings.onAsk) = (
      nil, nil, nil
    )
    (properties.settings.shell, properties.settings.launcher, properties.pause) = (nil, nil, nil)
    return properties
  }
}
