import SerialqQueue
import SerialqSystem
import Testing

/// `edit` without an editor.
@Suite final class EditTests: SceneSuite {
  private func pause() throws { #expect(try scene.serialq("pause").code == 0) }

  // Fails if an option changes more than it says, or the words are split differently than by add.
  @Test("edit changes the command and the options that are given, and nothing else")
  func waiting() throws {
    try pause()
    _ = try FileSystem.makeFolder(scene.path("sub"))
    let made = try scene.serialq(
      "add", "-n", "a", "-e", "A=1", "-e", "B=2", "--timeout", "60", "--retries", "2", "echo old")
    #expect(made.text == "1\n")
    func edit(_ words: String...) throws -> Job {
      let outcome = try scene.serialq((["edit"] + words).map { Bytes($0.utf8) })
      #expect(outcome.code == 0 && outcome.output.isEmpty && outcome.errors.isEmpty)
      return try #require(try scene.queue().job(1))
    }
    let before = try #require(try scene.queue().job(1))
    let line = try edit("1", "echo $A $B; pwd")
    #expect(line.command == .shell(Bytes("echo $A $B; pwd")))
    #expect(line.context == before.context && line.limits == before.limits)
    #expect(try edit("a", "ls", "-l").command == .arguments([Bytes("ls"), Bytes("-l")]))
    #expect(try edit("1", "--", "ls").command == .arguments([Bytes("ls")]))
    #expect(try edit("-c", "echo $A $B; pwd", "1").command == line.command)
    let limits = try edit("1", "--timeout", "0", "-n", "b").limits
    #expect(limits.timeout == 0 && limits.retries == 2)
    let options = try edit("--retries", "0", "1", "--retry-delay", "5", "-e", "B=3", "-C", "sub")
    #expect(options.limits.retries == 0 && options.limits.retryDelay == 5)
    #expect(options.label == Bytes("b") && options.command == line.command)
    #expect(try edit("1", "-n", "").label == nil)
    #expect(try scene.serialq("resume").code == 0)
    #expect(try scene.serialq("wait").code == 0)
    #expect(try scene.log(1).text.hasPrefix("1 3\n") && scene.log(1).text.hasSuffix("/sub\n"))
    // Old and new lines replay to the same queue after a compaction.
    let queue = try scene.queue()
    #expect(try scene.serialq("clean", "--older-than", "1h").code == 0)
    #expect(try scene.queue().jobs == queue.jobs)
  }

  // Fails if an edit drops the input or the terminal, or gives both to a job.
  @Test("edit gives a job a terminal and takes it away, and keeps its input")
  func terminal() throws {
    try pause()
    try write(Bytes("data"), to: scene.path("data"))
    #expect(try scene.serialq("add", "-i", "data", "cat").code == 0)
    #expect(try scene.serialq("add", "-t", "tty").code == 0)
    let before = try scene.journal()
    expectRefusal(try scene.serialq("edit", "1", "-t"), "job 1: its standard input is a file")
    #expect(try scene.journal() == before)
    for id in ["1", "2"] { #expect(try scene.serialq("edit", id, "-n", "x").code == 0) }
    #expect(try scene.queue().job(1)?.input == .file(scene.path("data")))
    #expect(try scene.queue().job(2)?.terminal == .unknownSize)
    #expect(try scene.serialq("edit", "2", "--no-tty").code == 0)
    #expect(try scene.queue().job(2)?.terminal == nil)
    #expect(try scene.serialq("edit", "2", "--tty", "true").code == 0)
    #expect(try scene.queue().job(2)?.terminal == .unknownSize)
  }

  // Fails if a finished job is changed without being queued, or a running one is changed.
  @Test("edit queues a finished job again, and refuses a running one")
  func finished() throws {
    #expect(try scene.serialq("run", "exit 3").code == 3)
    #expect(try scene.serialq("edit", "1", "-C", "/", "echo up; read x <$OLDPWD/gate").code == 0)
    #expect(try scene.serialq("wait", "1").code != 0)
    let job = try #require(try scene.queue().job(1))
    #expect(job.attempts == 2 && job.context.directory == Bytes("/"))
    #expect(try scene.serialq("edit", "1", "-C", ".", "echo up; read x <gate").code == 0)
    // Not for its output alone: the log of the attempt before has the same.
    _ = try scene.waitForProcess(of: 1)
    let refused = try scene.serialq("edit", "1", "true")
    expectRefusal(refused, "job 1: it is running")
    try gate.open()
    #expect(try scene.serialq("wait").code == 0)
    #expect(try scene.log(1) == Bytes("up\n"))
    // Also in an editor; an unchanged command is not queued again.
    #expect(try scene.edit("true").errorText == "serialq: job 1 is unchanged\n")
    #expect(try scene.states() == [.succeeded])
    #expect(try scene.edit("sed -i 's/; .*//'").code == 0)
    #expect(try scene.serialq("wait").code == 0)
    #expect(try scene.queue().job(1)?.attempts == 4)
  }

  // Fails if the text is removed with the file that the editor had; or if that file stays when its
  // process is killed.
  @Test("a text that comes too late is kept, and that of a killed process is removed")
  func keptText() throws {
    try scene.add("echo one")
    let folder = try scene.queueFolder().path
    func texts() throws -> [String] {
      try FileSystem.names(in: folder).map(\.text).filter { $0.hasPrefix("edit") }
    }
    _ = try scene.edit("kill -9 $PPID; :")
    #expect(try texts().count == 1)
    let late = try scene.edit("sh -c 'serialq run >/dev/null; echo my text >$0'")
    expectRefusal(late, "job 1: it is not waiting: it succeeded")
    let kept = folder.appending(path: Bytes("edited"))
    #expect(late.errorText.contains("\nYour text is in \(kept.text). Nothing was changed."))
    #expect(try content(kept) == Bytes("my text\n"))
    #expect(try scene.edit("true").errorText == "serialq: job 1 is unchanged\n")
    #expect(try texts() == ["edited"])
  }

  // Fails if Ctrl-C ends edit, or the shell that runs the editor: the text would be lost.
  @Test("Ctrl-C in the editor is left to the editor", .needs(.tmux, .bash))
  func interrupt() throws {
    try pause()
    try scene.add("true")
    let editor = "#!/bin/sh\ntrap 'echo echo typed >\"$1\"; exit 0' INT\necho up\nread x <gate\n"
    try writeProgram(Bytes(editor.utf8), to: scene.path("editor"))
    let terminal = try Terminal(scene, variables: ["VISUAL=./editor"])
    try terminal.type("clear; serialq edit 1", until: "up")
    try terminal.press("C-c")
    try terminal.waitForLine("^Cserialq: job 1 is changed: echo typed")
  }

  // Fails if the job counts as the one before itself.
  @Test("a job that is over can be edited to require the one before")
  func ownCondition() throws {
    try scene.add("false")
    #expect(try scene.serialq("run").code == 1)
    #expect(try scene.serialq("edit", "1", "--if-ok", "true").code == 0)
    #expect(try scene.serialq("wait").code == 0)
    #expect(try scene.states() == [.succeeded])
  }

  // Fails if new conditions are not checked, or the job stays before the one that it requires.
  @Test("edit changes the conditions, which then apply")
  func conditions() throws {
    try pause()
    try scene.add("true", "exit 1", "true")
    #expect(try scene.serialq("move", "3", "--first").code == 0)
    #expect(try scene.serialq("edit", "3", "--after", "1-2").code == 0)
    #expect(try scene.queue().waiting.map(\.id) == [1, 2, 3])
    let before = try scene.journal()
    expectRefusal(try scene.serialq("edit", "2", "--after", "2"), "job 2: it cannot run after")
    expectRefusal(try scene.serialq("edit", "2", "--after", "3"), "job 2: job 3 was added later")
    #expect(try scene.journal() == before)
    #expect(try scene.serialq("resume").code == 0)
    #expect(try scene.serialq("wait").code == 1)
    #expect(try scene.states() == [.succeeded, .failed, .skipped])
    // The job is queued again; the same conditions, given again, apply again.
    #expect(try scene.serialq("edit", "3", "--after", "1-2").code == 0)
    #expect(try scene.serialq("wait", "3").code == 1)
    #expect(try scene.states()[2] == .skipped)
    #expect(try scene.serialq("edit", "3", "--unconditional").code == 0)
    #expect(try scene.serialq("wait", "3").code == 0)
    #expect(try scene.queue().job(3)?.limits == Limits.none)
  }

  // Fails if keep acts only when a job ends, counts open jobs, or leaves a log.
  @Test("set keep acts at once, and does not count open jobs")
  func keep() throws {
    try scene.add("exit 1", "true", "true", "true", "exit 2")
    #expect(try scene.serialq("run").code == 1)
    #expect(try scene.serialq("set", "keep", "2").code == 0)
    #expect(try scene.queue().jobs.map(\.id) == [1, 3, 4, 5])
    #expect(try FileSystem.names(in: scene.queueFolder().logs).count == 4)
    #expect(try scene.serialq("ack", "1").code == 0)
    #expect(try scene.serialq("set", "keep", "2").code == 0)
    #expect(try scene.queue().jobs.map(\.id) == [3, 4, 5])
    #expect(try scene.serialq("clean", "--keep", "1").code == 0)
    #expect(try scene.queue().jobs.map(\.id) == [4, 5])
    #expect(try scene.serialq("set", "keep", "all").code == 0)
  }
}
