import SerialqSystem
import Testing

/// Changes to waiting jobs.
@Suite final class ChangesTests: SceneSuite {
  // The runner makes the lock and the log of the next job while one runs. Fails if it then runs that job
  // although another one is first, or keeps the lock.
  @Test(
    "a change of the order while a job runs decides which job runs next, and leaves no lock",
    arguments: [["move", "3", "--first"], ["move", "2", "--last"], ["cancel", "2"]])
  func orderWhileRunning(words: [String]) throws {
    try scene.add("echo up; read x <gate", "echo 2", "echo 3")
    let run = try scene.start("run")
    try scene.waitForLog(1, "up\n")
    let folder = try scene.queueFolder()
    try waitUntil("the lock of job 2", watching: [folder.locks]) {
      try FileSystem.status(of: folder.jobLock(2)) != nil
    }
    #expect(try scene.serialq(words).code == 0)
    try gate.open()
    #expect(try run.wait().text == (words[0] == "move" ? "up\n3\n2\n" : "up\n3\n"))
    #expect(try FileSystem.names(in: folder.locks).isEmpty)
  }

  // Fails if arguments are passed to the editor in a form that some sh does not read back: write
  // the text by `ShellQuote.command`.
  @Test("edit preserves every byte of unchanged arguments")
  func editedArguments() throws {
    let words: [Bytes] = [
      Bytes("a\tb\u{1}c"), Bytes("x\ny\n"), [0xFF, 0x27, 0x81], [], Bytes("$'a' \\"),
    ]
    let command = [Bytes("printf"), Bytes("%s|")] + words
    _ = try scene.serialq([Bytes("add"), Bytes("--no-start"), Bytes("--")] + command)
    #expect(try scene.edit("true").errorText == "serialq: job 1 is unchanged\n")
    #expect(try scene.queue().job(1)?.command == .arguments(command))
    #expect(try scene.edit("sed -i '$s/$/ end/'").code == 0)
    _ = try scene.serialq("run")
    #expect(try scene.log(1) == Bytes((words + [Bytes("end")]).map { $0 + Bytes("|") }.joined()))
  }
}
