import SerialqQueue
import SerialqSystem
import SerialqWatch
import TestSupport
import Testing

/// Reading the output of jobs, during a run and afterwards.
@Suite final class LogTests: SceneSuite {
  // Fails if the follower does not wait for the start, prints another job's output, or does not
  // end.
  @Test("following a waiting job begins with its start, and ends with its end")
  func followWaiting() throws {
    try scene.add(
      "echo first; read x <gate", "echo second; read x <gate; echo over; exit 4", "true")
    let waiting = try scene.start("log", "-f", "2").waitForErrors(
      "has no active runner; start one with: serialq start")
    let run = try scene.start("run").waitForOutput("first")
    try gate.open()
    try waiting.waitForOutput("second")
    let late = try scene.start("log", "-f", "2").waitForOutput("second")
    #expect(late.errors.text == "")
    try gate.open()
    for follower in [waiting, late] {
      let outcome = try follower.wait()
      #expect(outcome.text == "second\nover\n")
      #expect(outcome.code == 0)
    }
    #expect(try run.wait().code == 1)
    #expect(try scene.serialq("log", "-f", "2").text == "second\nover\n")
  }

  // Fails if following begins with another line, leaves out a line that is written later, or if an
  // incomplete line is not one: drop `isFirstLook` in `Follower`.
  @Test("log -f begins with the last ten lines, or as many as -n says, and prints all that follow")
  func followLastLines() throws {
    let many = "seq 20; printf begun; read x <gate; echo; seq 21 40"
    try scene.add(many, "seq 41 60")
    let run = try scene.start("run").waitForOutput("begun")
    func lines(_ range: ClosedRange<Int>) -> String { range.map { "\($0)\n" }.joined() }
    let calls: [(words: [String], begins: String, isQueue: Bool)] = [
      (["-f", "1"], lines(12...20), false), (["-f"], lines(12...20), true),
      (["-f", "-n", "2", "1"], lines(20...20), false), (["-fn1"], "", true),
      (["-f", "-n", "all", "1"], lines(1...20), false),
    ]
    let followers = try calls.map { call in
      try scene.start(["log"] + call.words)
    }
    for follower in followers { try follower.waitForOutput("begun") }
    try gate.open()
    for (call, follower) in zip(calls, followers) {
      let rest = call.isQueue ? lines(41...60) : ""
      #expect(
        try follower.wait().text == call.begins + "begun\n" + lines(21...40) + rest,
        "\(call.words)")
    }
    _ = try run.wait()
    // A job that is over has only lines that were there before.
    #expect(try scene.serialq("log", "-f", "2").text == lines(51...60))
    #expect(try scene.serialq("log", "-f", "-n", "1", "2").text == lines(60...60))
    #expect(try scene.serialq("log", "-f", "-n", "all", "2").text == lines(41...60))
    #expect(try scene.serialq("log", "-n", "all", "2").text == lines(41...60))
  }

  // Fails if it blocks, or advises a command that starts nothing in a paused queue.
  @Test("following ends where a pause lets no output come, and says how to resume")
  func followPaused() throws {
    try scene.add("echo first; read x <gate", "echo second")
    #expect(try scene.serialq("pause").code == 0)
    for words in [["log", "-f"], ["log", "-f", "2"]] {
      let outcome = try scene.serialq(words)
      expectRefusal(outcome, "queue default: it is paused; jobs waiting: 2")
      #expect(outcome.errorText.hasSuffix("\nResume it with: serialq resume\n"))
    }
    // The advice works.
    #expect(try scene.serialq("resume").code == 0)
    let follower = try scene.start("log", "-f").waitForOutput("first")
    // A running job is followed to its end.
    #expect(try scene.serialq("pause").code == 0)
    let late = try scene.start("log", "-f", "1").waitForOutput("first")
    try gate.open()
    #expect(try late.wait().code == 0)
    let outcome = try follower.wait()
    #expect(outcome.code == 125 && outcome.text == "first\n")
    #expect(outcome.errorText.contains("queue default: it is paused; jobs waiting: 1"))
  }

  // Fails if it ends silently: a script could not tell it from a job without output.
  @Test("following a queue without work says that there is nothing to follow")
  func followNothing() throws {
    #expect(try scene.serialq("run", "echo done").code == 0)
    let outcome = try scene.serialq("log", "-f")
    #expect(outcome.code == 0 && outcome.text == "")
    #expect(
      outcome.errorText == """
        serialq: queue default has nothing to follow; list its jobs: serialq list

        """)
  }

  // Fails if a job between two attempts counts as one that never ran, or another is shown instead.
  @Test("between two attempts, log prints the output of the last one")
  func betweenAttempts() throws {
    #expect(try scene.serialq("run", "echo older").code == 0)
    let delayed = ["--retries", "1", "--retry-delay", "1h", "echo once; false"]
    #expect(try scene.serialq(["add"] + delayed).code == 0)
    try scene.waitForJob(2) { $0.waiting?.due != nil }
    for words in [["log", "2"], ["log"], ["log", "-n", "1", "2"]] {
      let outcome = try scene.serialq(words)
      #expect(outcome.code == 0 && outcome.text == "once\n", "\(words) \(outcome.errorText)")
    }
    let follower = try scene.start("log", "-f", "2").waitForOutput("once")
    #expect(try scene.serialq("cancel", "2").code == 0)
    let followed = try follower.wait()
    #expect(followed.code == 0 && followed.text == "once\n", "\(followed.errorText)")
    // After a retry the log of the last attempt stays until the next one starts.
    #expect(try scene.serialq("pause").code == 0)
    #expect(try scene.serialq("retry", "1").code == 0)
    #expect(try scene.serialq("log", "1").text == "older\n")
    let blocked = try scene.serialq("log", "-f", "1")
    #expect(blocked.code == 125 && blocked.text == "older\n", "\(blocked.errorText)")
  }

  // Fails if it prints nothing: that is the output of a job without any.
  @Test("the log of a job whose file was removed is an error")
  func removedFile() throws {
    #expect(try scene.serialq("run", "echo 1").code == 0)
    let path = try scene.queueFolder().log(1)
    try FileSystem.remove(path)
    for words in [["log"], ["log", "-n", "1", "1"], ["log", "-f", "1"]] {
      expectRefusal(
        try scene.serialq(words), "the log of job 1: its file \(path.text) was removed\n")
    }
  }

  // Fails if a missing folder cannot be watched: another process is creating it.
  @Test("following a queue that is just being created is not an error")
  func followUnmade() throws {
    let folder = try scene.queueFolder()
    for path in [scene.spool, folder.path] { #expect(try FileSystem.makeFolder(path)) }
    for words in [["log", "-f"], ["list"], ["status"]] {
      let outcome = try scene.serialq(words)
      let isSilent = outcome.errors.isEmpty || words[0] == "log"
      #expect(outcome.code == 0 && isSilent, "\(outcome.errorText)")
    }
  }

  // Fails if output is cut to a buffer size, or printed twice between two reads.
  @Test("output larger than any pipe is complete, with every command that prints it")
  func large() throws {
    let words = "0123456789012345678901234567890123456789"
    let count = 20_000 / ease
    let line = "i=0; while [ $i -lt \(count) ]; do echo \"$i \(words)\"; i=$((i + 1)); done"
    try scene.add(line)
    let run = try scene.start("run")
    let follower = try scene.start("log", "-f", "-n", "all", "1")
    let expected = Bytes(
      (0..<count).map { "\($0) \(words)\n" }.joined().utf8)
    #expect(expected.count > 900_000 / ease)
    #expect(try run.wait().output == expected)
    #expect(try follower.wait().output == expected)
    #expect(try scene.serialq("log", "1").output == expected)
    let piped = try scene.script("serialq log 1 | cksum; serialq log 1 | cat | tail -n 1")
    #expect(piped.text.hasSuffix("\(count - 1) \(words)\n"))
  }

  // Fails if the log is printed for as long as it grows: such a job reads its own output, here
  // until it reaches a size limit.
  @Test("a job that prints its own log prints the present content, and ends")
  func own() throws {
    let run = try scene.serialq("run", "\(Scene.smallFiles) echo so far; exec serialq log")
    #expect(run.code == 0 && run.text == "so far\nso far\n", "\(run.errorText)")
  }

  // Fails if SIGPIPE kills it, or EPIPE is reported as an error.
  @Test("a closed reader ends the command silently")
  func readerGone() throws {
    // More than a pipe holds.
    try scene.add("yes | head -c \(1_000_000 / ease)")
    #expect(try scene.serialq("run").code == 0)
    for command in ["log 1", "log -f 1"] {
      let script = "{ serialq \(command); echo $? >code; } | head -n 1"
      let outcome = try scene.script(script)
      #expect(outcome.text == "y\n" && outcome.errorText == "")
      #expect(try content(scene.path("code")).text == "0\n")
    }
  }

  // Fails if it continues to read for as long as the job prints, although its output is closed.
  @Test("following a job that never stops printing ends when its reader is closed")
  func endlessReaderGone() throws {
    try scene.add("while :; do echo line; done")
    let run = try scene.start("run")
    // The run's output is not read here: it could grow faster than it is read.
    _ = try scene.waitForProcess(of: 1)
    let outcome = try scene.script("serialq log -f 1 | head -n 1")
    #expect(outcome.text == "line\n" && outcome.errorText == "")
    #expect(try run.end(SIGTERM).code == 128 + SIGTERM)
  }

  // Fails if Ctrl-C ends the job, leaves the user in doubt about it, or waits for a blocked reader.
  @Test(
    "Ctrl-C ends log -f and wait, which say that the job continues",
    arguments: [["log", "-f", "1"], ["log", "-f"], ["wait"], ["wait", "1"]])
  func followerInterrupted(words: [String]) throws {
    try scene.add("echo up; read x <gate; echo over")
    if words[0] == "log" { #expect(try scene.serialq("start").code == 0) }
    let follower = try scene.start(words)
    // `wait` has started the runner, and receives signals by then.
    if words[0] == "wait" {
      try scene.waitForLog(1, "up")
    } else {
      try follower.waitForOutput("up")
    }
    let outcome = try follower.end(SIGINT)
    #expect(outcome.status == .killed(SIGINT))
    #expect(outcome.errorText == "serialq: job 1 continues\n")
    try gate.open()
    #expect(try scene.serialq("wait", "1").code == 0)
  }

  // Fails if the run stops with its reader: `| head` would stop the queue.
  @Test("a run whose reader is closed still runs every job")
  func runWithoutReader() throws {
    try scene.add("yes | head -c 200000", "exit 2", "echo end >>rec")
    let script = "{ serialq run; echo $? >code; } | head -n 1"
    #expect(try scene.script(script).text == "y\n")
    #expect(try content(scene.path("code")).text == "1\n")
    #expect(try scene.states() == [.succeeded, .failed, .succeeded])
  }

  #if os(Linux)
    // Fails if the run ends with its output: the job continues without a runner, and waiting jobs
    // stay.
    @Test("a run that cannot write its output runs every job, and then reports the error")
    func runIntoFullDisk() throws {
      try scene.add("echo a; read x <gate", "echo b; exit 2", "echo c >>rec")
      let run = try scene.start("run") { $0.prelude = "exec >/dev/full" }
      try scene.waitForLog(1, "a")
      try gate.open()
      let outcome = try run.wait()
      #expect(outcome.code == 125)
      #expect(try scene.states() == [.succeeded, .failed, .succeeded])
      let lines = outcome.errorText.split(separator: "\n")
      #expect(lines.first?.hasPrefix("serialq: job 2 failed with exit code 2") == true)
      let last = "serialq: cannot write to standard output: No space left on device"
      #expect(lines.dropLast().last.map(String.init) == last, "\(outcome.errorText)")
    }
  #endif

  // Fails if the order of ids decides, and not the order of execution.
  @Test("log without an id prints the output of the job that ran last")
  func lastRun() throws {
    try scene.add("echo one", "echo two")
    #expect(try scene.serialq("move", "2", "--first").code == 0)
    #expect(try scene.serialq("run").code == 0)
    _ = try scene.serialq("add", "--no-start", "echo three")
    #expect(try scene.serialq("log").text == "one\n")
  }
}
