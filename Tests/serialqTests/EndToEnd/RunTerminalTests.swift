import SerialqSystem
import TestSupport
import Testing

/// `run -t`: the terminal of the user is that of the jobs that the call adds.
@Suite(.beside, .needs(.tmux, .bash))
final class RunTerminalTests: SceneSuite {
  // Fails if the job has another terminal, its output is printed twice, or the reports are lost.
  @Test("run -t passes the terminal on to its job", arguments: [80, 40])
  func passes(columns: Int) throws {
    let terminal = try Terminal(
      scene, columns: columns,
      typing: "stty -g >before; clear; serialq run -t 'stty size; read x; echo got $x'")
    try terminal.waitForLine("24 \(columns)")
    try terminal.type("me")
    try terminal.waitFor("the end") { $0.last == "$" && $0.count > 1 }
    let screen = try terminal.screen()
    #expect(
      screen == [
        "queued job 1", "[1] stty size; read x; echo got $x",
        #"serialq: attached; Ctrl-\ detaches"#, "24 \(columns)", "me", "got me",
        "[1] succeeded after TIME", "serialq: 1 of 1 succeeded", "$",
      ], "\(screen)")
    try terminal.type("stty -g | cmp - before && echo same", until: "same")
  }

  // Fails if the output of a job that ends before it can be attached is not shown.
  @Test("run -t shows the output of jobs of any length, one after another")
  func quick() throws {
    let terminal = try Terminal(scene, rows: 50)
    let lines = (1...8).map { _ in "echo job $SERIALQ_JOB\n" }.joined()
    try write(Bytes((lines + "no-such-program; true\n").utf8), to: scene.path("jobs"))
    try terminal.type("clear; serialq run -t -f jobs; echo $?")
    try terminal.waitFor("the end") { $0.suffix(2) == ["0", "$"] }
    let screen = try terminal.screen()
    for id in 1...8 { #expect(screen.count { $0 == "job \(id)" } == 1, "\(screen)") }
    #expect(screen.count { $0.contains("no-such-program: not found") } == 1, "\(screen)")
    #expect(screen.contains("serialq: 9 of 9 succeeded"))
  }

  // Fails if run leaves the terminal of its last job as soon as its runner is done.
  @Test("run -t shows all output of its last job, also on a terminal that has stopped reading")
  func slow() throws {
    let terminal = try Terminal(scene, typing: "echo $PPID >server; clear")
    try terminal.type("serialq run -t 'echo up; read x <gate; seq 20000'", until: "up")
    #expect(try scene.script("kill -STOP $(cat server)").code == 0)
    do {
      defer { _ = try? scene.script("kill -CONT $(cat server)") }
      try gate.open()
      try scene.waitForJob(1, .succeeded)
      try scene.waitForNoRunner()
    }
    try terminal.waitFor("the end") { $0.last == "$" && $0.count > 1 }
    #expect(
      try terminal.screen().suffix(5) == [
        "19999", "20000", "[1] succeeded after TIME", "serialq: 1 of 1 succeeded", "$",
      ])
  }

  // Fails if a detached terminal cancels the job, shows its output twice, or is attached again.
  @Test("after Ctrl-\\ run shows its display again, and Ctrl-C cancels the job")
  func detached() throws {
    let terminal = try Terminal(scene)
    let line = "echo up; read x <gate; echo more; read x <gate"
    try terminal.type("clear; serialq run -t '\(line)'")
    try terminal.waitFor("the output") { $0.last == "up" }
    try terminal.press(#"C-\"#)
    let bar = "[>..................] 0 of 1 done"
    try terminal.waitFor("the display") { $0.last == bar }
    let notice = "serialq: detached; Ctrl-C now cancels job 1; attach again: serialq attach 1"
    #expect(
      try terminal.screen() == [
        "queued job 1", "[1] \(line)", #"serialq: attached; Ctrl-\ detaches"#, "up",
        notice,
        "[1] \(line) TIME", bar,
      ])
    try gate.open()
    try terminal.waitForLine("more")
    try terminal.press("C-c")
    try terminal.waitFor("the prompt") { $0.last == "$" }
    let screen = try terminal.screen()
    #expect(screen.count { $0 == "up" } == 1 && screen.count { $0 == "more" } == 1, "\(screen)")
    #expect(try scene.states() == [.cancelled])
  }

  // Fails if a signal leaves the terminal raw, does not end the job, or ends the attachment before
  // the job.
  @Test("SIGTERM ends the job of run -t, shows what it prints last, and restores the terminal")
  func terminated() throws {
    let terminal = try Terminal(scene, typing: "stty -g >before; clear")
    let line =
      "trap \"seq 200; exit\" TERM; printf \"\\033[?25lup\"; while :; do sleep 0.05; done"
    try terminal.type("sh -c 'echo $$ >pid; exec serialq run -t \"$1\"' - '\(line)'; echo $?")
    try terminal.waitFor("the output") { $0.last == "up" }
    #expect(try scene.script("kill $(cat pid)").code == 0)
    let screen = try terminal.waitFor("the prompt") { $0.suffix(2) == ["143", "$"] }
    #expect(screen.contains("200"), "\(screen)")
    #expect(try terminal.isCursorShown())
    try terminal.type("stty -g | cmp - before && echo same", until: "same")
    #expect(try scene.states() == [.interrupted])
  }

  // Fails if run attaches its terminal to a job that it did not add, hides its question, or shows
  // the prompt twice.
  @Test("run shows the question of a job that it did not add, and how to answer it")
  func others() throws {
    let line = #"printf "Name: "; read x; echo "hello $x""#
    #expect(try scene.serialq("add", "--no-start", "-t", "-c", line).code == 0)
    let terminal = try Terminal(scene, typing: "clear; serialq run")
    try terminal.waitForLine("  seems to wait for input: Name:")
    let screen = try terminal.waitFor("the advice") { $0.contains("  Answer it: serialq attach 1") }
    #expect(!screen.contains { $0.hasPrefix("| ") }, "\(screen)")
    let second = try Terminal(scene)
    try second.type("clear; serialq attach")
    try second.waitFor("the question") { $0.last == "Name:" }
    try second.type("me")
    try terminal.waitForLine("hello me")
    try terminal.waitForLine("serialq: 1 of 1 succeeded")
  }
}
