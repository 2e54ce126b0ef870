import SerialqQueue
import SerialqSystem
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

  // Fails if the log is printed for as long as it grows: such a job reads its own output, here
  // until it reaches a size limit.
  @Test("a job that prints its own log prints the present content, and ends")
  func own() throws {
    let run = try scene.serialq("run", "\(Scene.smallFiles) echo so far; exec serialq log")
    #expect(run.code == 0 && run.text == "so far\nso far\n", "\(run.errorText)")
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

  // Fails if a failed run remains the queue's runner while it prints: jobs added then would wait
  // for it.
  @Test("a failed run releases the queue, even while its reader is slow")
  func failedRun() throws {
    let pipe = try Gate(scene, "pipe")
    try scene.add("yes | head -c 300000", "echo two")
    let folder = try scene.queueFolder()
    #expect(try FileSystem.makeFolder(folder.log(2)))
    let run = try scene.launch(["/bin/sh", "-c", "exec serialq run >pipe"])
    try scene.waitForJob(1, .succeeded)
    try scene.waitForNoRunner()
    #expect(try scene.script("rmdir '\(folder.log(2).text)'; serialq add 'echo three'").code == 0)
    try scene.waitForJob(3, .succeeded)
    #expect(try scene.states() == [.succeeded, .succeeded, .succeeded])
    #expect(try scene.script("head -c 300000 <pipe").output.count == 300_000)
    #expect(try run.wait().code == 125)
    withExtendedLifetime(pipe) {}
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

    // Fails if a failed write of the result is not reported, or changes are where none were made.
    @Test("a full standard output is reported, and so is the job that is queued anyway")
    func fullOutput() throws {
      try scene.add("echo text")
      for command in ["list", "status", "list --json", "show 1", "help", "--version"] {
        let outcome = try scene.script("serialq \(command) >/dev/full")
        expectRefusal(
          outcome,
          """
          cannot write to standard output: No space left on device
          The output is incomplete.

          """)
      }
      let added = try scene.script("serialq add --no-start true >/dev/full")
      expectRefusal(added, "cannot write to standard output: No space left on device")
      #expect(added.errorText.contains("queued"))
      #expect(try scene.states() == [.waiting, .waiting])
    }
  #endif
}
