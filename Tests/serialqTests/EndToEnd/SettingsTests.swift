@testable import SerialqSystem
import TestSupport
import Testing

/// The limit of logs.
@Suite final class SettingsTests: SceneSuite {
  // Fails if the middle is kept, a line is cut, or a command shows another log than the others.
  @Test("a long log loses its middle when the job is over, and every command shows the rest")
  func logLimit() throws {
    #expect(try scene.serialq("set", "log-limit", "2K").code == 0)
    try scene.add("seq 1 1000; exit 3", "seq 1 100")
    #expect(try scene.serialq("run").code == 1)
    let log = try scene.log(1)
    #expect(log.count <= 2_048)
    let lines = log.text.split(separator: "\n").map(String.init)
    let notice = try #require(lines.firstIndex { $0.contains("(log-limit 2K)") })
    #expect(lines[..<notice] == (1...notice).map { "\($0)" }[...])
    let rest = lines.count - notice - 1
    #expect(lines.suffix(rest) == (1_001 - rest...1_000).map { "\($0)" }[...])
    let all = Bytes((1...1_000).map { "\($0)\n" }.joined().utf8).count
    let kept = lines.filter { Int($0) != nil }.map { $0.utf8.count + 1 }.reduce(0, +)
    #expect(lines[notice] == "serialq: \(all - kept) bytes dropped here (log-limit 2K)")
    // A log within the limit is unchanged, and nothing else is left.
    #expect(try scene.log(2).text == (1...100).map { "\($0)\n" }.joined())
    let names = try FileSystem.names(in: scene.queueFolder().logs)
    #expect(Set(names) == [Bytes("1"), Bytes("2")])
    #expect(try scene.serialq("log", "1").output == log)
    #expect(try scene.serialq("log", "-f", "-n", "all", "1").output == log)
    #expect(try scene.serialq("log", "-n", "2", "1").text == "999\n1000\n")
    #expect(try scene.serialq().text.contains("| 1000\n"))
  }

  // Fails if a log is cut before a retry: a follower would miss the output of the next attempt.
  @Test("a follower prints all of a log that is cut, over several attempts")
  func followed() throws {
    #expect(try scene.serialq("set", "log-limit", "1K").code == 0)
    let line = "echo begin; read x <gate; seq 1 1000; echo x >>rec; [ $(wc -l <rec) -ge 3 ]"
    #expect(try scene.serialq("add", "--retries", "2", line).code == 0)
    let follower = try scene.start("log", "-f", "-n", "all", "1").waitForOutput("begin")
    for _ in 1...3 { try gate.open() }
    let once = "begin\n" + (1...1_000).map { "\($0)\n" }.joined()
    #expect(try follower.wait().text == once + once + once)
    #expect(try scene.log(1).count <= 1_024)
  }

  // Fails if the log is replaced while a process still writes to it: its output would be lost.
  @Test("a log is not cut while a process that the job left behind writes to it")
  func leftBehind() throws {
    #expect(try scene.serialq("set", "log-limit", "1K").code == 0)
    #expect(try scene.serialq("run", "seq 1 1000; (read x <gate; echo late) &").code == 0)
    try gate.open()
    try scene.waitForLog(1, "late")
    let text = (1...1_000).map { "\($0)\n" }.joined() + "late\n"
    #expect(try scene.log(1).text == text)
  }

  // Fails if only the runner that starts a job limits its log.
  @Test("the log of a job whose runner died is cut when it is over")
  func orphan() throws {
    #expect(try scene.serialq("set", "log-limit", "1K").code == 0)
    try scene.add("echo begun; read x <gate; seq 1 1000")
    try scene.orphanJob(printing: "begun")
    let run = try scene.start("run")
    try scene.waitForWait(for: 1)
    try gate.open()
    #expect(try run.wait().code == 1)
    let log = try scene.log(1)
    #expect(log.count <= 1_024 && log.text.contains("(log-limit 1K)\n"), "\(log.text)")
    #expect(log.text.hasPrefix("begun\n1\n") && log.text.hasSuffix("\n1000\n"))
  }
}
