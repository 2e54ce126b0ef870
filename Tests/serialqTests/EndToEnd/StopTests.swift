import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// Signals to a run in the foreground.
@Suite final class StopTests: SceneSuite {
  // Fails if only the job's shell is signalled (the grandchild survives), if the job counts as
  // killed, if SIGTERM counts as a cancel request of the user, or if the rest of the queue is
  // canceled or run, or the run exits with a code.
  @Test(
    "the first signal ends the running job and keeps the rest", .shows(Running.stopsInOrder),
    arguments: [SIGINT, SIGTERM, SIGQUIT, SIGHUP])
  func first(signal: Int32) throws {
    try scene.add(
      "(trap 'echo grandchild >>rec; exit' TERM; echo up; read x <gate; echo no >>rec) & "
        + "trap 'echo child >>rec; exit 7' TERM; wait; wait", "echo next >>rec")
    let run = try scene.start("run").waitForOutput("up")
    let outcome = try run.end(signal)
    #expect(outcome.status == .killed(signal))
    #expect(outcome.errorText.contains("stopped by \(SignalName.of(signal)); 1 still waiting"))
    #expect(try scene.states() == [signal == SIGINT ? .cancelled : .interrupted, .waiting])
    try scene.waitForFile("rec", "grandchild")
    try scene.waitForFile("rec", "child")
    #expect(try scene.serialq("run").code == 0)
    #expect(try content(scene.path("rec")).text.hasSuffix("next\n"))
    #expect(try !content(scene.path("rec")).text.contains("no"))
    // An interrupted job is an open failure.
    #expect(try scene.serialq("wait").code == (signal == SIGINT ? 0 : 1))
  }

  // Fails if the second signal is handled like the first: the job ignores it, and runs until the
  // grace period of ten seconds is over. Or if the first does not decide: Ctrl-C after SIGTERM
  // would cancel the job.
  @Test(
    "a second signal kills a job that ignores the first, which decides how it ended",
    arguments: [(SIGINT, JobState.cancelled), (SIGTERM, .interrupted)])
  func second(first: Int32, state: JobState) throws {
    try scene.add("trap 'echo ignored' TERM; echo up; while :; do read x <gate; done", "true")
    let run = try scene.start("run").waitForOutput("up")
    run.send(first)
    try run.waitForOutput("ignored")
    #expect(try scene.states() == [.running, .waiting])
    #expect(try run.end(SIGINT).status == .killed(first))
    #expect(try scene.states() == [state, .waiting])
    #expect(try scene.queue().job(1)?.ending == (state == .cancelled ? .killed(SIGKILL) : nil))
  }

  // Fails if a command exits with 130, so that the shell starts the next one.
  @Test(
    "Ctrl-C at any command ends the loop of the shell", .needs(.tmux, .bash),
    arguments: [("run sh job", "up"), ("wait", "[1] sh job"), ("log -f", "up"), ("-w", "Job 1")])
  func loop(command: String, begin: String) throws {
    try write(Bytes("echo up; exec sleep 1000"), to: scene.path("job"))
    if !command.hasPrefix("run") { try scene.addRunning("sh", "job", until: "up") }
    let terminal = try Terminal(scene)
    try terminal.type("clear; for i in 1 2 3; do echo call $i; serialq \(command); done")
    try terminal.waitForLine(begin)
    try terminal.press("C-c")
    let screen = try terminal.waitFor("the prompt") { $0.last == "$" }
    #expect(screen.contains("call 1") && !screen.contains("call 2"), "\(screen)")
  }

  // Fails if the Swift runtime reports it as a crash, and continues.
  @Test("SIGQUIT ends a command that reads standard input")
  func quit() throws {
    try scene.add("true")
    let add = try scene.start("add", "-i", "-", "cat") { $0.prelude = "exec <gate" }
    let inputs = try scene.queueFolder().path.appending(path: Bytes("input"))
    try waitUntil("the copy", watching: [inputs]) { try !FileSystem.names(in: inputs).isEmpty }
    #expect(try add.end(SIGQUIT).status == .killed(SIGQUIT))
  }

  // Fails if the signal counts as a failure of the editor.
  @Test("a signal that ends the editor ends edit too")
  func editor() throws {
    try scene.add("true")
    let edit = try scene.start("edit", "1") {
      $0.environment.append(Bytes("VISUAL=echo up >up; exec sleep 1000; :"))
    }
    try scene.waitForFile("up", "up")
    #expect(try edit.end(SIGTERM).status == .killed(SIGTERM))
  }

  // Fails if the run sets a handler for a signal that it inherited as ignored.
  @Test("a hangup that is ignored, as under nohup, has no effect")
  func ignoredHangup() throws {
    try scene.add("echo up; read x <gate; echo over")
    let run = try scene.start("run") { $0.prelude = "trap '' HUP" }
    try run.waitForOutput("up")
    run.send(SIGHUP)
    try gate.open()
    let outcome = try run.wait()
    #expect(outcome.code == 0 && outcome.text == "up\nover\n" && outcome.errorText == "")
  }

  // Fails if a write error of the closed terminal (EIO) ends the run, or is reported as a failure:
  // the job, which is still ending, would have no runner.
  @Test("a closed terminal stops a run gracefully")
  func closedTerminal() throws {
    // Not inheritable by processes of concurrent tests: a terminal closes with its last descriptor.
    let raw = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)
    var window: FileDescriptor? = FileDescriptor(owning: raw)
    try #require(window != nil && grantpt(raw) == 0 && unlockpt(raw) == 0)
    let name = try #require(ptsname(raw).map { String(cString: $0) })
    try scene.add(
      "trap 'echo ending; read x <gate; echo over >>rec; exit 3' TERM; echo up; read x <gate",
      "true")
    let run = try scene.start("run") { $0.prelude = "exec >\(name) 2>&1" }
    try scene.waitForLog(1, "up")
    window = nil
    run.send(SIGHUP)
    try scene.waitForLog(1, "ending")
    try gate.open()
    #expect(try run.wait().status == .killed(SIGHUP))
    #expect(try scene.states() == [.interrupted, .waiting])
    #expect(try content(scene.path("rec")).text == "over\n")
  }

  // Fails if signals wait for output to be printed: the reader may have stopped reading.
  @Test("a signal ends the job even if its output is not read")
  func blockedOutput() throws {
    let gate = try Gate(scene, "reader")
    let job = """
      trap 'echo ended >>rec; exit' TERM
      yes | head -c 1000000; echo up >>rec
      while :; do sleep 1; done
      """
    try write(Bytes(job.utf8), to: scene.path("job"))
    // The read end of the pipe stays open, and is not read.
    let line = "sh -c 'echo $$ >pid; exec serialq run sh job' | { read x <reader; cat; }"
    let pipeline = try scene.launch(["/bin/sh", "-c", line])
    try scene.waitForFile("rec", "up")
    let pid = try #require(Int32(content(scene.path("pid")).text.dropLast()))
    #expect(kill(pid, SIGINT) == 0)
    try scene.waitForFile("rec", "ended")
    try gate.open()
    _ = try pipeline.wait()
    #expect(try scene.states() == [.cancelled])
  }

  // Fails if a follower can be ended only by closing its output.
  @Test("a second signal ends a follower whose output is not read")
  func blockedFollower() throws {
    let reader = try Gate(scene, "reader")
    try scene.add("yes | head -c 1000000; echo up >>rec; read x <gate")
    let first = try scene.start("run")
    try scene.waitForFile("rec", "up")
    let pipeline = try scene.launch([
      "/bin/sh", "-c",
      """
      { serialq run & echo $! >pid; wait $!; echo $? >code; } | {
        head -c 1 >printed; read x <reader; cat >/dev/null
      }
      """,
    ])
    try pipeline.waitForErrors("another runner is active")
    try scene.waitForFile("printed", "y")
    let pid = try #require(Int32(content(scene.path("pid")).text.dropLast()))
    // Not SIGINT, which a shell makes its background processes ignore.
    for signal in [SIGTERM, SIGHUP] { #expect(kill(pid, signal) == 0) }
    try scene.waitForFile("code", "\n")
    let code = try content(scene.path("code")).text
    #expect(code == "\(128 + SIGTERM)\n" || code == "\(128 + SIGHUP)\n")
    try reader.open()
    _ = try pipeline.wait()
    try gate.open()
    #expect(try first.wait().code == 0)
  }

  // Fails if Ctrl-C ends edit, or the shell that runs the editor: the text would be lost.
  @Test("Ctrl-C in the editor is left to the editor", .needs(.tmux, .bash))
  func interrupt() throws {
    #expect(try scene.serialq("pause").code == 0)
    try scene.add("true")
    let editor = "#!/bin/sh\ntrap 'echo echo typed >\"$1\"; exit 0' INT\necho up\nread x <gate\n"
    try writeProgram(Bytes(editor.utf8), to: scene.path("editor"))
    let terminal = try Terminal(scene, variables: ["VISUAL=./editor"])
    try terminal.type("clear; serialq edit 1", until: "up")
    try terminal.press("C-c")
    try terminal.waitForLine("^Cserialq: job 1 is changed: echo typed")
  }
}
