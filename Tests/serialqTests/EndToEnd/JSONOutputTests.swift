import Foundation
@testable import SerialqCLI
import SerialqQueue
import SerialqSystem
import Testing

/// Output for scripts.
@Suite final class JSONOutputTests: SceneSuite {
  private static let fields: Set<String> = [
    "id", "state", "command", "shell", "label", "key", "directory", "input", "exitCode", "signal",
    "pid", "attempt", "added", "started", "ended", "duration", "timeout", "retries", "retryDelay",
    "ifOk",
    "after", "skippedBecause", "suspended", "tty", "asks", "unlogged", "unreachable", "launcher",
    "log", "onFinishFailure",
  ]

  // Fails if a field is missing, renamed, or of another type, or an attempt has another number than
  // in the manual.
  @Test("list and show print the same jobs, with every documented field")
  func jobs() throws {
    #expect(try scene.serialq("add", "--no-start", "--retries", "1", "exit 3").code == 0)
    try scene.add("kill -9 $$")
    #expect(try scene.serialq("run", "-n", "two words", "--", "echo", "a b", "").code == 0)
    try scene.add("true", "true")
    #expect(try scene.serialq("cancel", "4").code == 0)
    let list = try object(scene.serialq("list", "--json"))
    #expect(Set(list.keys) == ["version", "queue", "paused", "jobs"])
    #expect(list["version"] as? Int == 1 && list["queue"] as? String == "default")
    #expect(list["paused"] as? Bool == false)
    let jobs = try #require(list["jobs"] as? [[String: Any]])
    for (index, job) in jobs.enumerated() {
      #expect(Set(job.keys) == Self.fields)
      #expect(job["id"] as? Int == index + 1)
      #expect(job["directory"] as? String == scene.work.text)
      #expect(try job["log"] as? String == scene.queueFolder().log(index + 1).text)
      let shown = try object(scene.serialq("show", "--json", "\(index + 1)"))
      #expect(NSDictionary(dictionary: shown) == NSDictionary(dictionary: job))
    }
    #expect(jobs[0]["shell"] as? String == "exit 3" && jobs[0]["command"] is NSNull)
    #expect(jobs[0]["exitCode"] as? Int == 3 && jobs[0]["signal"] is NSNull)
    #expect(jobs[0]["state"] as? String == "failed" && jobs[0]["label"] is NSNull)
    #expect(jobs.map { $0["attempt"] as? Int } == [2, 1, 1, 0, nil])
    #expect(jobs[1]["exitCode"] is NSNull && jobs[1]["signal"] as? String == "SIGKILL")
    #expect(jobs[1]["state"] as? String == "killed")
    #expect(jobs[2]["command"] as? [String] == ["echo", "a b", ""])
    #expect(jobs[2]["shell"] is NSNull && jobs[2]["label"] as? String == "two words")
    for field in [
      "started", "ended", "duration", "attempt", "pid", "exitCode", "signal", "suspended",
      "unreachable",
    ] {
      #expect(jobs[4][field] is NSNull, "\(field)")
    }
    #expect(jobs[4]["state"] as? String == "waiting")
  }

  // Fails if a state is not counted, or the running job is missing.
  @Test("status prints the counts and the running job")
  func status() throws {
    let none = try object(scene.serialq("status", "--json", "-q", "none"))
    #expect(none["queue"] as? String == "none" && none["running"] is NSNull)
    try scene.add("true", "false", "echo up; read x <gate", "true")
    let run = try scene.start("run").waitForOutput("up")
    let busy = try object(scene.serialq("--json"))
    let members: Set = [
      "version", "queue", "paused", "runner", "damaged", "openFailures", "onIdleFailure", "counts",
      "running", "obstacle",
    ]
    #expect(Set(busy.keys) == members && Set(none.keys) == members)
    #expect(none["runner"] as? Bool == false && busy["runner"] as? Bool == true)
    #expect(busy["damaged"] is NSNull)
    let counts = try #require(busy["counts"] as? [String: Int])
    #expect(Set(counts.keys) == Set(JobState.allCases.map { "\($0.name)" }))
    #expect(
      counts.filter { $0.value > 0 } == [
        "succeeded": 1, "failed": 1, "running": 1, "waiting": 1,
      ])
    let running = try #require(busy["running"] as? [String: Any])
    #expect(Set(running.keys) == Self.fields && running["id"] as? Int == 3)
    #expect(running["ended"] is NSNull && running["started"] is String)
    #expect(try running["pid"] as? Int == Int(scene.waitForProcess(of: 3)))
    #expect(busy["obstacle"] is NSNull && none["obstacle"] is NSNull)
    try gate.open()
    #expect(try run.wait().code == 1)
  }

  // Fails if the JSON has another reason than the text, or none.
  @Test("status says why no job starts")
  func obstacles() throws {
    func reason() throws -> [String?] {
      let found = try object(scene.serialq("--json"))["obstacle"] as? [String: Any]
      return [found?["reason"] as? String, (found?["job"] as? Int).map { "\($0)" }]
    }
    try scene.add("echo up; read x <gate; exit 3", "true")
    #expect(try reason() == ["no-runner", nil])
    #expect(try scene.serialq("pause").code == 0)
    #expect(try reason() == ["paused", nil])
    #expect(try scene.serialq("set", "on-failure", "stop").code == 0)
    #expect(try scene.serialq("resume").code == 0)
    try scene.waitForLog(1, "up\n")
    #expect(try reason() == [nil, nil])
    try gate.open()
    #expect(try scene.serialq("wait", "1").code == 3)
    #expect(try reason() == ["failure", "1"])
  }

  // Fails if a byte is lost, or two texts become the same.
  @Test("text that is not UTF-8 is decoded by the rule in the manual")
  func anyBytes() throws {
    let words: [Bytes] = [
      (1...255).map { $0 }, Bytes("é\u{F780}\u{F7FF}\u{F77F}\u{F800}🙂"), [0xED, 0xA0, 0x80],
      [0xC0, 0xAF], Bytes("\"\\\n\u{1}\u{7F}\u{2028}"), [0xF0, 0x9F, 0x99], [],
    ]
    let label = Bytes("l\u{1}") + [0xFE]
    let folder = [0xE9] + Bytes("t\u{E9}")
    _ = try FileSystem.makeFolder(scene.work.appending(path: folder))
    let options = [Bytes("-n"), label, Bytes("-C"), folder]
    _ = try scene.serialq(
      [Bytes("add"), Bytes("--no-start")] + options + [Bytes("--"), Bytes("printf")] + words)
    _ = try scene.serialq([
      Bytes("add"), Bytes("--no-start"), Bytes("-c"), Bytes("echo ") + words[0],
    ])
    let jobs = try scene.listed()
    let command = try #require(jobs[0]["command"] as? [String])
    #expect(command.map(Scene.bytes(ofJSON:)) == [Bytes("printf")] + words)
    #expect((jobs[0]["label"] as? String).map(Scene.bytes(ofJSON:)) == label)
    #expect(
      (jobs[0]["directory"] as? String).map(Scene.bytes(ofJSON:))
        == scene.work.appending(path: folder))
    #expect((jobs[1]["shell"] as? String).map(Scene.bytes(ofJSON:)) == Bytes("echo ") + words[0])
  }

  private func object(_ outcome: Outcome) throws -> [String: Any] {
    #expect(outcome.code == 0 && outcome.errors.isEmpty && outcome.output.last == 0x0A)
    let object = try JSONSerialization.jsonObject(with: Data(outcome.output))
    return try #require(object as? [String: Any])
  }
}
