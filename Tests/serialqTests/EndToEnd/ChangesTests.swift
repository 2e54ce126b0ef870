import SerialqSystem
import Testing

/// Changes to waiting jobs, and removal of ended ones.
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

  // Fails if a job in another directory counts as the same, or the id is not printed.
  @Test("--unique adds nothing if the same job waits")
  func unique() throws {
    _ = try FileSystem.makeFolder(scene.path("sub"))
    func add(_ words: String...) throws -> String {
      try scene.serialq(["add", "--no-start", "--unique"] + words).text
    }
    #expect(try add("make") == "1\n")
    #expect(try add("make") == "1\n")
    #expect(try add("-C", "sub", "make") == "2\n")
    #expect(try add("--", "make") == "3\n")
    #expect(try scene.states().count == 3)
    _ = try scene.serialq("run")
    #expect(try add("make") == "4\n")
  }

  // Fails if an unchanged command, or none, is written.
  @Test("edit changes a waiting job, and nothing else")
  func edit() throws {
    try scene.add("echo one", "echo two")
    let before = try scene.journal()
    let same = try scene.edit("true")
    #expect(same.code == 0 && same.errorText == "serialq: job 1 is unchanged\n")
    expectRefusal(try scene.edit("false"), "the editor false: it failed")
    expectRefusal(try scene.edit("truncate -s 0"), "the command of job 1: it is empty")
    #if os(Linux)
      // 32 pages of 64 KB are the longest argument of any Linux.
      let long = try scene.edit("sh -c 'head -c 3000000 /dev/zero | tr \\\\0 x >\"$0\"'")
      expectRefusal(long, "the command of job 1: it is too long: ")
    #endif
    #expect(try scene.journal() == before)
    #expect(try scene.edit("sed -i s/one/changed/").code == 0)
    #expect(try scene.serialq("run").code == 0)
    #expect(try scene.log(1) == Bytes("changed\n"))
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

  // Fails if clean removes waiting jobs, running jobs or open failures, or leaves a log.
  @Test("clean forgets ended jobs and deletes their logs, but keeps open failures unless requested")
  func clean() throws {
    try scene.add("echo 1", "exit 2", "echo 3", "echo 4")
    _ = try scene.serialq("run")
    try scene.add("echo 5")
    func ids() throws -> [Int] { try scene.queue().jobs.map(\.id) }
    #expect(try scene.serialq("clean", "--older-than", "1h").code == 0)
    #expect(try ids() == [1, 2, 3, 4, 5])
    let kept = try scene.serialq("clean", "--keep", "1")
    #expect(try ids() == [2, 4, 5])
    #expect(kept.code == 0 && kept.errorText.contains("kept 1 open job"))
    #expect(try FileSystem.names(in: scene.queueFolder().logs).count == 2)
    #expect(try scene.serialq("clean", "--all").code == 0)
    #expect(try ids() == [5])
    #expect(try scene.serialq("add", "--no-start", "true").text == "6\n")
  }
}
