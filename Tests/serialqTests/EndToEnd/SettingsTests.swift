@testable import SerialqSystem
import TestSupport
import Testing

/// The settings of a queue: the shell for command lines, and the limit of logs.
@Suite final class SettingsTests: SceneSuite {
  // Fails if a setting is not listed, or in another form than `set` takes.
  @Test("set lists all settings in the form in which it takes them")
  func list() throws {
    #expect(
      try scene.serialq("set").text == """
        on-failure  continue
        on-finish   ''
        on-idle     ''
        on-ask      ''
        keep        all
        shell       /bin/sh
        log-limit   none
        tty         off
        launcher    ''

        """)
    let values = [
      ["on-failure", "stop"], ["on-finish", "echo 'a b'"], ["on-idle", "true"],
      ["on-ask", "./tell"], ["keep", "5"], ["shell", "/usr/bin/env"], ["log-limit", "10M"],
      ["tty", "on"], ["launcher", "nice -n 5"],
    ]
    for words in values {
      #expect(try scene.serialq(["set"] + words).code == 0)
      let shown = try scene.serialq("set", words[0])
      #expect(shown.code == 0 && shown.errors.isEmpty)
      let isQuoted = words[1].contains(" ")
      let quoted = "'\(words[1].replacing("'", with: "'\\''"))'\n"
      #expect(shown.text == (isQuoted ? quoted : "\(words[1])\n"))
    }
    let table = try scene.serialq("set").text
    // Read back by a shell, it sets the same.
    let again = try Scene()
    let script = table.split(separator: "\n").map { "serialq set \($0)\n" }.joined()
    #expect(try again.script(script).code == 0)
    #expect(try again.serialq("set").text == table)
    // Compaction keeps them.
    #expect(try scene.serialq("clean").code == 0)
    #expect(try scene.serialq("set").text == table)
  }

  // Fails if the shell is that of the time of add, or a program and its arguments need one.
  @Test("command lines run in the shell that is set when they start, and so do the hooks")
  func shell() throws {
    // Runs the line with /bin/sh, and records how it was called.
    try writeProgram(
      Bytes("#!/bin/sh\necho \"$1\" >>calls\nexec /bin/sh \"$@\"\n".utf8), to: scene.path("shell"))
    try scene.add("echo one")
    #expect(try scene.serialq("set", "shell", scene.path("shell").text).code == 0)
    #expect(try scene.serialq("run").text == "one\n")
    #expect(try content(scene.path("calls")) == Bytes("-c\n"))
    #expect(try scene.serialq("run", "--", "echo", "two").text == "two\n")
    #expect(try content(scene.path("calls")) == Bytes("-c\n"))
    #expect(try scene.serialq("set", "on-finish", "echo hook >>hooked").code == 0)
    #expect(try scene.serialq("run", "--", "true").code == 0)
    #expect(try content(scene.path("calls")) == Bytes("-c\n-c\n"))
    #expect(try content(scene.path("hooked")) == Bytes("hook\n"))
    #expect(try scene.serialq("set", "on-finish", "").code == 0)
    try FileSystem.remove(scene.path("shell"))
    let gone = try scene.serialq("run", "echo three")
    #expect(gone.code == 127 && gone.errorText.contains("/shell: not found"), "\(gone.errorText)")
    #expect(try scene.serialq("set", "shell", "default").code == 0)
    #expect(try scene.serialq("run", "echo four").text == "four\n")
  }

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
