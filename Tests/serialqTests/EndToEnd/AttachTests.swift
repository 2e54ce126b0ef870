import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// `attach`: the terminal of the user at that of a job.
@Suite(.beside, .needs(.tmux, .bash))
final class AttachTests: SceneSuite {
  /// Prints, asks, and ends with an exit code.
  private static let asking = #"echo begun; printf "Name: "; read x; echo "hello $x"; exit 3"#

  /// Adds a job with a terminal, and waits until it has printed `text`.
  private func add(_ line: String, printing text: String) throws {
    let outcome = try scene.serialq("add", "-t", "-c", line)
    #expect(outcome.code == 0, "\(outcome.errorText)")
    try scene.waitForLog(try #require(JobID(outcome.text.dropLast())), text)
  }

  /// A terminal whose mode is noted, to compare it with that at the end.
  private func notedTerminal(columns: Int = 80) throws -> Terminal {
    let terminal = try Terminal(scene, columns: columns)
    try terminal.type("stty -g >before; clear")
    try terminal.waitFor("the prompt") { $0 == ["$"] }
    return terminal
  }

  private func expectSameMode(_ terminal: Terminal) throws {
    try terminal.type("stty -g | cmp - before && echo same", until: "same")
    #expect(try terminal.isCursorShown())
  }

  // Fails if output, keys, the exit code or the mode of the terminal do not pass.
  @Test(
    "attach shows the output so far, passes on the answer, and exits as the job",
    arguments: [80, 40])
  func answer(columns: Int) throws {
    try add(Self.asking, printing: "Name: ")
    let terminal = try notedTerminal(columns: columns)
    try terminal.type("serialq attach; echo $?")
    try terminal.waitFor("the question") { $0.last == "Name:" }
    #expect(try terminal.screen().joined().contains(#"; Ctrl-\ leaves it running"#))
    try terminal.type("world")
    try terminal.waitFor("the end") { $0.last == "$" && $0.contains("3") }
    let screen = try terminal.screen()
    #expect(screen.contains("Name: world") && screen.contains("hello world"), "\(screen)")
    #expect(screen.joined().contains("serialq: job 1 failed with exit code 3 after"))
    #expect(screen.contains("Output of job 1: serialq log 1"))
    try expectSameMode(terminal)
    #expect(try scene.log(1).text == "begun\r\nName: world\r\nhello world\r\n")
  }

  // Fails if keys that were read together with the detach key are dropped.
  @Test("an answer that is typed together with the detach key reaches the job")
  func answerAndLeave() throws {
    try add(Self.asking, printing: "Name: ")
    let client = try TerminalClient(scene, [Bytes("1")])
    // Not the title of the job, which is shown before the terminal is raw.
    _ = try client.read(until: "begun\r")
    try client.terminal.master.writeAll(Bytes("world\r\u{1C}".utf8))
    #expect(try client.child.end("attach") == .exited(0))
    #expect(try scene.serialq("wait", "--timeout", "10", "1").code == 3)
    #expect(try scene.log(1).text.hasSuffix("hello world\r\n"))
  }

  // Fails if the key reaches the job, ends it, or another key leaves.
  @Test(
    "the detach key leaves the job running, and it can be attached again",
    arguments: [("", #"C-\"#), ("--detach-key ^B ", "C-b")])
  func detach(option: String, key: String) throws {
    try add(Self.asking, printing: "Name: ")
    let terminal = try notedTerminal()
    for _ in 1...2 {
      try terminal.type("clear; serialq attach \(option)1; echo left $?")
      try terminal.waitFor("the question") { $0.last?.hasPrefix("Name:") == true }
      if key != #"C-\"# { try terminal.press("C-a") }
      try terminal.press(key)
      try terminal.waitFor("the prompt") {
        $0.suffix(3) == ["serialq: job 1 continues", "left 0", "$"]
      }
    }
    try expectSameMode(terminal)
    try terminal.type("clear; serialq attach")
    try terminal.waitFor("the question") { $0.last?.hasPrefix("Name:") == true }
    try terminal.type("again", until: "hello ")
    #expect(try scene.serialq("wait", "1").code == 3)
  }

  // Fails if a key is interpreted by this terminal, or by attach.
  @Test("Ctrl-C, Ctrl-Z, Ctrl-D and Ctrl-S reach the job")
  func keys() throws {
    let line = "stty raw -echo; echo up; head -c 4 | od -An -tx1; stty sane; echo over"
    try add(line, printing: "up")
    let terminal = try Terminal(scene)
    try terminal.type("clear; serialq attach", until: "up")
    for key in ["C-c", "C-z", "C-d", "C-s"] { try terminal.press(key) }
    try terminal.waitForLine("serialq: job 1 succeeded")
    #expect(try scene.log(1).text.contains("03 1a 04 13"))
  }

  // Fails if attach does not report what it waits for, or the command must be repeated.
  @Test("attach waits for a queued job to start, and for its next attempt")
  func waits() throws {
    try scene.add("read x <gate")
    #expect(
      try scene.serialq("add", "--no-start", "-t", "--retries", "1", "-c", "read x; exit $x").code
        == 0)
    #expect(try scene.serialq("start").code == 0)
    let terminal = try Terminal(scene)
    try terminal.type("clear; serialq attach 2; echo $?")
    try terminal.waitForLine("serialq: waiting for job 2 to start")
    try gate.open()
    try terminal.waitFor("the first attempt") { $0.count { $0.contains("attached to job 2") } == 1 }
    try terminal.type("7")
    try terminal.waitFor("the second attempt") {
      $0.count { $0.contains("attached to job 2") } == 2
    }
    try terminal.type("0")
    try terminal.waitFor("the end") { $0.last == "$" }
    let screen = try terminal.screen()
    #expect(screen.suffix(3) == ["serialq: job 2 succeeded after TIME", "0", "$"], "\(screen)")
    #expect(screen.count { $0.contains("waiting for job 2") } == 1, "\(screen)")
  }

  // Fails, on most runs, if the time limit of a wait for the keeper is not that of one attempt.
  @Test("attach stays through attempts that take longer than it waits for one keeper")
  func manyAttempts() throws {
    let line = "echo attempt; exit 5"
    let terminal = try Terminal(scene)
    try terminal.type(
      "clear; serialq add -t --retries 3 --retry-delay 2 '\(line)'; serialq attach 1; echo $?")
    try terminal.waitFor("the end") { $0.last == "$" && $0.contains("5") }
    let screen = try terminal.screen()
    #expect(!screen.contains { $0.contains("no connection") || $0.contains("no active runner") })
  }

  // Fails if a key does not work before the job has started, or the detach key, which leaves a
  // running job, ends in a core dump.
  @Test(
    "Ctrl-C ends attach while it waits for the start, and so does the detach key",
    arguments: [("C-c", "130"), (#"C-\"#, "0")])
  func interrupted(key: String, code: String) throws {
    try scene.add("read x <gate")
    #expect(try scene.serialq("add", "-t", "-c", "true").code == 0)
    let terminal = try notedTerminal()
    try terminal.type("serialq attach 2", until: "serialq: waiting for job 2")
    try terminal.press(key)
    let screen = try terminal.waitFor("the prompt") { $0.last == "$" }
    let said = screen.contains { $0.hasSuffix("serialq: job 2 stays in the queue") }
    #expect((code == "0") == said, "\(screen)")
    try terminal.type("echo $?", until: code)
    try expectSameMode(terminal)
    try gate.open()
    #expect(try scene.serialq("wait").code == 0)
  }

  // Fails if the job's terminal keeps its first size.
  @Test("the job has the size of the attached terminal, also after a change")
  func size() throws {
    try add("echo up; while read x; do stty size; done", printing: "up")
    let terminal = try Terminal(scene, columns: 70, rows: 20)
    try terminal.type("clear; serialq attach")
    try terminal.waitFor("the output") { $0.contains("up") }
    func expectSize(_ size: String) throws {
      // The new size arrives some time after the screen has it.
      try terminal.waitFor(size) { screen in
        if screen.contains(size) { return true }
        try? terminal.press("Enter")
        return false
      }
    }
    try expectSize("20 70")
    try terminal.resize(columns: 40, rows: 10)
    try expectSize("10 40")
    try terminal.resize(columns: 100, rows: 30)
    try expectSize("30 100")
    try terminal.press("C-d")
    try terminal.waitForLine("serialq: job 1 succeeded")
  }

  // Fails if the screen of a program is what its last bytes draw, or a program without a screen is
  // interrupted.
  @Test("a program that draws is notified when a terminal attaches, and draws again")
  func redraw() throws {
    let line = "trap 'echo drawn' WINCH; echo up; while :; do sleep 0.05; done"
    try add("printf '\\033[K'; \(line)", printing: "up")
    let terminal = try Terminal(scene, typing: "clear; serialq attach")
    try terminal.waitForLine("drawn")
    try terminal.press("C-c")
    try terminal.waitForLine("serialq: job 1 was killed")
    try add(line, printing: "up")
    try terminal.type("clear; serialq attach", until: "up")
    try terminal.press("C-c")
    try terminal.waitForLine("serialq: job 2 was killed")
    #expect(try scene.log(2).text == "up\r\n^C")
  }

  // Fails if the keys of both reach the job, or the first does not learn of it.
  @Test("of two attached terminals the newer one types, until it leaves")
  func two() throws {
    try add(#"echo up; while read x; do echo "got $x"; done"#, printing: "up")
    let first = try Terminal(scene)
    try first.type("clear; serialq attach")
    try first.waitFor("the output") { $0.last == "up" }
    let second = try Terminal(scene, columns: 60)
    try second.type("clear; serialq attach")
    try second.waitFor("the output") { $0.last == "up" }
    let notice = #"serialq: another terminal types now, this one only shows; Ctrl-\ leaves"#
    try first.waitForLine(notice)
    try first.type("lost")
    try second.type("two")
    for terminal in [first, second] { try terminal.waitForLine("got two") }
    try second.press(#"C-\"#)
    try second.waitForLine("serialq: job 1 continues")
    try first.waitForLine("serialq: this terminal types again")
    try first.type("one")
    try first.waitForLine("got one")
    try first.press("C-d")
    try first.waitForLine("serialq: job 1 succeeded")
    #expect(try !scene.log(1).text.contains("lost"))
  }

  // Fails if a signal leaves the terminal raw, on the alternate screen, or without a cursor.
  @Test(
    "a signal ends attach, restores the terminal, and leaves the job running",
    arguments: ["INT", "TERM", "HUP", "QUIT"])
  func signals(name: String) throws {
    try add(#"printf '\033[31m\033[?25l\033[?1049hup'; read x <gate"#, printing: "up")
    let terminal = try notedTerminal()
    try terminal.type("sh -c 'echo $$ >pid; exec serialq attach'; echo $?")
    try terminal.waitFor("the output") { $0.contains { $0.contains("up") } }
    #expect(try scene.script("kill -\(name) $(cat pid)").code == 0)
    try terminal.waitFor("the prompt") { $0.last == "$" && $0.count > 1 }
    try expectSameMode(terminal)
    #expect(try scene.states() == [.running])
    try gate.open()
    #expect(try scene.serialq("wait").code == 0)
  }

  // Fails if the shell cannot be used while attach is stopped, or attach does not come back.
  @Test("attach that is stopped restores the terminal, and fg attaches it again")
  func stopped() throws {
    try add(Self.asking, printing: "Name: ")
    let terminal = try notedTerminal()
    try terminal.type("serialq attach")
    try terminal.waitFor("the question") { $0.last == "Name:" }
    for signal in ["TSTP", "STOP"] {
      #expect(try scene.script("kill -\(signal) \(attachedProcess())").code == 0)
      try terminal.waitFor("the prompt") { $0.last == "$" }
      try terminal.type("clear; echo $((40+2))")
      try terminal.waitFor("the shell") { $0 == ["42", "$"] }
      try terminal.type("clear; fg")
      try terminal.waitFor("the question") { $0.last == "Name:" }
    }
    try terminal.type("me", until: "hello me")
    try terminal.waitFor("the prompt") { $0.last == "$" }
    try expectSameMode(terminal)
  }

  private func attachedProcess() throws -> Int32 {
    let found = try scene.processes().filter {
      let words = try? content(Bytes("/proc/\($0)/cmdline".utf8)).split(separator: 0)
      return words?.contains { Bytes($0) == Bytes("attach") } == true
    }
    return try #require(found.first)
  }

  // Fails if attach changes the terminal of the shell from the background.
  @Test("attach in the background stops until it is in the foreground")
  func background() throws {
    try add(Self.asking, printing: "Name: ")
    let terminal = try notedTerminal()
    try terminal.type("serialq attach &")
    try terminal.waitFor("a stopped job") { screen in
      if screen.contains(where: { $0.contains("Stopped") }) { return true }
      // The shell reports it with the next prompt.
      try? terminal.press("Enter")
      return false
    }
    try terminal.type("stty -g | cmp - before && echo same", until: "same")
    try terminal.type("clear; fg")
    try terminal.waitFor("the question") { $0.last == "Name:" }
    try terminal.type("me", until: "hello me")
  }

  // Fails if a terminal that reads nothing holds up the job, or never sees its end.
  @Test("an attached terminal that is stopped holds up neither the job nor the log")
  func stuck() throws {
    try add("echo up; read x <gate; seq 200000; echo over", printing: "up")
    let terminal = try notedTerminal()
    try terminal.type("serialq attach; echo $?")
    try terminal.waitFor("the output") { $0.last == "up" }
    let process = try attachedProcess()
    #expect(kill(process, SIGSTOP) == 0)
    try gate.open()
    #expect(try scene.serialq("wait", "1").code == 0)
    #expect(try scene.log(1).text.hasSuffix("200000\r\nover\r\n"))
    try terminal.waitFor("the prompt") { $0.last == "$" }
    try terminal.type("clear; fg")
    try terminal.waitFor("the end") {
      $0.contains { $0.hasPrefix("serialq: job 1 succeeded") } && $0.last == "$"
    }
    try expectSameMode(terminal)
  }

  // Fails if Ctrl-S stops the job's terminal: its user may leave without Ctrl-Q.
  @Test("Ctrl-S in an attached terminal does not hold up the job")
  func stopKey() throws {
    try add("echo up; read x <gate; echo over", printing: "up")
    let terminal = try Terminal(scene)
    try terminal.type("clear; serialq attach", until: "up")
    try terminal.press("C-s")
    try terminal.waitForLine("^S")
    try terminal.press(#"C-\"#)
    try terminal.waitForLine("serialq: job 1 continues")
    try gate.open()
    #expect(try scene.serialq("wait", "1").code == 0)
    #expect(try scene.log(1).text.hasSuffix("over\r\n"))
  }

  // Fails if a suspended job looks like one that does not answer.
  @Test("a job that is suspended or continued says so to the attached terminal")
  func suspended() throws {
    try add(Self.asking, printing: "Name: ")
    let terminal = try Terminal(scene)
    try terminal.type("clear; serialq attach")
    try terminal.waitFor("the question") { $0.last == "Name:" }
    #expect(try scene.serialq("pause", "--now").code == 0)
    let notice = "serialq: job 1 is suspended; continue it: serialq resume"
    try terminal.waitForLine(notice)
    try terminal.press(#"C-\"#)
    try terminal.waitFor("the prompt") { $0.last == "$" }
    try terminal.type("clear; serialq attach", until: notice)
    #expect(try scene.serialq("resume").code == 0)
    try terminal.waitForLine("serialq: job 1 continues")
    try terminal.type("me", until: "hello me")
  }

  // Fails if the end of the keeper leaves the terminal raw, or counts as a success.
  @Test("if the keeper is killed, attach restores the terminal and says what happened")
  func lost() throws {
    for (line, code, text) in [
      ("echo up; while :; do sleep 100; done", 129, "job 1 was killed by SIGHUP"),
      ("trap '' HUP; echo up; read x <gate", 125, "the terminal of job 2: it is gone"),
    ] {
      try add(line, printing: "up")
      let terminal = try notedTerminal()
      try terminal.type("serialq attach; echo $?")
      try terminal.waitFor("the output") { $0.last == "up" }
      let id = try #require(scene.queue().running.first)
      let keeper = try #require(KeeperLock.keeper(id, scene.queueFolder()))
      #expect(keeper.handle.send(SIGKILL) == 0)
      try terminal.waitFor("the prompt") { $0.suffix(2) == ["\(code)", "$"] }
      #expect(try terminal.screen().contains { $0.contains(text) })
      try expectSameMode(terminal)
    }
    let lost = "the process that held the job's terminal was ended by SIGKILL"
    #expect(try scene.log(1).text.contains(lost))
    try gate.open()
  }

  // Fails if attach waits for what cannot come, or attaches to a job from within it.
  @Test("attach refuses jobs without a terminal, jobs that are over, and what cannot be attached")
  func refused() throws {
    let terminal = try Terminal(scene)
    /// Expects exit code 125 and this text.
    func expect(_ words: String, _ text: String...) throws {
      try terminal.type("clear; serialq attach \(words); echo $?")
      // All of it: the screen of before ends in the same code and prompt.
      try terminal.waitForScreen((text + ["125", "$"]).joined(separator: "\n"))
    }
    try expect("", "serialq: queue default: it has no jobs", "Add one with: serialq add")
    _ = try scene.serialq("add", "read x <gate")
    try scene.waitForJob(1, .running)
    let advice = "A job has one if it is added with: serialq add -t"
    try expect(
      "", "serialq: job 1: it has no terminal", "Follow its output: serialq log -f 1", advice)
    _ = try scene.serialq("add", "true")
    try expect(
      "2", "serialq: job 2: it will have no terminal", "Follow its output: serialq log -f 2", advice
    )
    _ = try scene.serialq("add", "-t", "-c", "serialq attach")
    #expect(try scene.serialq("pause").code == 0)
    try expect(
      "3", "serialq: queue default: it is paused; jobs waiting: 2",
      "Resume it with: serialq resume")
    try gate.open()
    #expect(try scene.serialq("resume").code == 0)
    #expect(try scene.serialq("wait", "3").code == 125)
    #expect(
      try scene.log(3).text.contains("job 3 of queue default calls it and would wait for itself"))
    try terminal.type("clear; serialq attach 1; echo $?")
    try terminal.waitFor("the prompt") { screen in
      screen.first?.hasPrefix("serialq: job 1: it succeeded") == true
        && screen.dropFirst() == ["See its output: serialq log 1", "125", "$"]
    }
    try expect(
      "", "serialq: attach: no job of queue default runs, and none with a terminal waits",
      "Add one with: serialq add -t")
    try expect(
      "9", "serialq: job 9: queue default has no such job; its last job is 3",
      "See all with: serialq list")
  }

  // Fails if keys are read from something that is not a terminal.
  @Test("attach needs a terminal as standard input and standard output")
  func notATerminal() throws {
    try add(Self.asking, printing: "Name: ")
    let outcome = try scene.serialq("attach")
    expectRefusal(outcome, "attach: standard input and standard output must be a terminal")
    #expect(outcome.errorText.contains("Follow the output: serialq log -f 1"))
    let terminal = try Terminal(scene)
    for redirection in ["</dev/null", ">out"] {
      try terminal.type("clear; serialq attach \(redirection); echo '\(redirection)' $?")
      try terminal.waitFor("the prompt") { $0.suffix(2) == ["\(redirection) 125", "$"] }
    }
    #expect(try scene.states() == [.running])
  }
}
