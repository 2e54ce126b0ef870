import SerialqQueue
@testable import SerialqSystem
import TestSupport
import Testing

/// `wait` returns the correct code.
@Suite(.beside) final class WaitTests: SceneSuite {
  // Fails if a code is translated, or an end without a code counts as success.
  @Test("wait for one job exits as the job did")
  func codes() throws {
    try scene.add("true", "exit 3", "kill -9 $$", "/nowhere/x")
    _ = try scene.serialq("add", "--no-start", "--timeout", "1", "sleep 100")
    try scene.add("true")
    #expect(try scene.serialq("cancel", "6").code == 0)
    for (id, code) in [(1, 0), (2, 3), (3, 137), (4, 127), (5, 124), (6, 1)] {
      #expect(try scene.serialq("wait", "\(id)").code == Int32(code), "job \(id)")
    }
    #expect(try scene.serialq("wait", "1", "2").code == 1)
    #expect(try scene.serialq("wait", "1-3").code == 1)
    #expect(try scene.serialq("wait", "1", "1").code == 0)
    // What was asked decides: a range with one job left is not one job.
    #expect(try scene.serialq("clean").code == 0)
    #expect(try scene.serialq("wait", "1-2").code == 1)
    #expect(try scene.serialq("wait", "2-2").code == 3)
  }

  // Fails if an earlier or an acknowledged failure counts wrongly.
  @Test("wait for the queue reports open failures, whenever they occurred")
  func openFailures() throws {
    #expect(try scene.serialq("wait").code == 0)
    _ = try scene.serialq("run", "exit 3")
    let failed = try scene.serialq("wait")
    #expect(failed.code == 1 && failed.errorText.contains("job 1 failed with exit code 3"))
    #expect(failed.errorText.hasSuffix("\nMark as seen: serialq ack --all\n"))
    #expect(!failed.errorText.contains("before this wait"))
    try scene.add("exit 4")
    let old = #/job 1 failed with exit code 3 after \d\.\ds, just now, before this wait: exit 3\n/#
    // The job that makes this wait fail now is not one of those before.
    let both = try scene.serialq("wait").errorText
    #expect(both.contains(old))
    #expect(both.contains(#/job 2 failed with exit code 4 after \d\.\ds: exit 4\n/#))
    #expect(try scene.serialq("ack", "--all").code == 0)
    #expect(try scene.serialq().text.contains(#/2 failed\.\nFinished just now, after \d\.\ds\.\n/#))
    #expect(try scene.serialq("wait").code == 0)
    #expect(try scene.serialq("retry", "1").code == 0)
    #expect(try scene.serialq("wait").code == 1)
    #expect(try scene.serialq("clean", "--failed").code == 0)
    #expect(try scene.serialq("wait").code == 0)
  }

  // Fails if a skipped job counts as done: `wait && deploy` would deploy without it.
  @Test("a skipped job is open until it is acknowledged, retried or removed")
  func skipped() throws {
    try scene.add("true")
    func chain() throws {
      #expect(try scene.serialq("add", "--no-start", "--if-ok", "[ -e fixed ]").code == 0)
    }
    try chain()
    // No failure is open: only the skipped job makes the difference.
    #expect(try scene.serialq("cancel", "1").code == 0)
    #expect(try scene.states() == [.cancelled, .skipped])
    let waited = try scene.serialq("wait")
    #expect(waited.code == 1)
    #expect(
      waited.errorText.hasPrefix("serialq: job 2 was skipped because job 1 did not succeed"))
    #expect(
      waited.errorText.hasSuffix("\nSee why: serialq show 2\nMark as seen: serialq ack --all\n"),
      "\(waited.errorText)")
    let status = try scene.serialq().text
    #expect(status.hasPrefix("Job 2: [ -e fixed ]\n  was skipped because job 1 did not succeed"))
    #expect(status.contains("Mark as seen:  serialq ack 2\n"), "\(status)")
    #expect(try scene.serialq("status", "--json").text.contains("\"openFailures\":1"))
    #expect(try scene.serialq("clean").errorText.contains("kept 1 open job\n"))
    #expect(try scene.serialq("ack", "2").code == 0)
    expectRefusal(try scene.serialq("ack", "2"), "job 2: acknowledged before")
    #expect(try scene.serialq("wait").code == 0)
    #expect(try scene.serialq().text.hasPrefix("No job is running or waiting"))
    // The acknowledgment survives a compaction, and ends with a retry.
    #expect(try scene.serialq("clean", "--older-than", "1h").code == 0)
    #expect(try scene.serialq("wait").code == 0)
    try write([], to: scene.path("fixed"))
    #expect(try scene.serialq("retry", "2").code == 0)
    #expect(try scene.serialq("wait").code == 0)
    #expect(try scene.states().last == .succeeded)
  }

  // Fails if older failures, or those of other jobs, count.
  @Test("run with one command exits as that command did, whatever other jobs did")
  func runCodes() throws {
    let lines: [(String, Int32)] = [
      ("exit 7", 7), ("kill -9 $$", 137), ("no-such-program", 127), ("true", 0),
    ]
    for (line, code) in lines {
      #expect(try scene.serialq("run", "-c", line).code == code)
    }
    #expect(try scene.serialq("run", "--timeout", "1", "exec sleep 1000").code == 124)
    #expect(try scene.serialq("run").code == 0)
    try scene.add("exit 3")
    #expect(try scene.serialq("run", "true").code == 0)
    // A list of one command is a list.
    #expect(try scene.serialq("run", "-f", "-") { $0.input = Bytes("exit 7\n") }.code == 1)
    // Also if the job is already forgotten, or its failure pauses the queue.
    #expect(try scene.serialq("set", "keep", "1").code == 0)
    #expect(try scene.serialq("add", "--no-start", "true").code == 0)
    #expect(try scene.serialq("run", "--first", "true").code == 0)
    #expect(try scene.serialq("set", "on-failure", "stop").code == 0)
    #expect(try scene.serialq("add", "--no-start", "true").code == 0)
    #expect(try scene.serialq("run", "--first", "exit 8").code == 8)
  }

  // Fails if a run that skipped a job exits with 0, and reports nothing.
  @Test("a run exits with 1 if a job was skipped")
  func skippedInRun() throws {
    try scene.add("kill -9 $$", "exit 3")
    #expect(try scene.serialq("run").code == 1)
    #expect(try scene.serialq("ack", "--all").code == 0)
    #expect(try scene.serialq("add", "--no-start", "--if-ok", "true").code == 0)
    let run = try scene.serialq("run")
    #expect(run.code == 1)
    #expect(
      run.errorText == """
        serialq: job 3 was skipped because job 2 did not succeed: true
        serialq: 0 of 1 succeeded

        """)
  }

  // Fails if the runner's death is not detected: `wait` would block forever.
  @Test("a runner that is killed during a wait is detected, and another continues")
  func killedRunner() throws {
    try scene.add("read x <gate", "echo 2 >>rec")
    let waiter = try scene.start("wait")
    let job = try scene.waitForProcess(of: 1)
    let runner = try scene.waitForRunner()
    #expect(kill(runner, SIGKILL) == 0)
    try waitUntil("another runner", watching: [scene.queueFolder().path]) {
      try scene.waitForRunner() != runner
    }
    #expect(kill(-job, SIGKILL) == 0)
    let outcome = try waiter.wait()
    #expect(outcome.code == 1 && outcome.errorText.contains("job 1 was interrupted"))
    #expect(try scene.states() == [.interrupted, .succeeded])
  }

  // Fails if `wait` starts failing runners again and again; if their messages are lost; or if jobs
  // that cannot have a log are recorded as started, and so interrupted one after another.
  @Test(
    "a runner that cannot run jobs is reported with its message, and no job is lost",
    arguments: ["log", "locks"])
  func brokenRunner(part: String) throws {
    try scene.add("echo 1 >>rec", "echo 2 >>rec")
    let broken = try scene.queueFolder().path.appending(path: Bytes("\(part)/1".utf8))
    #expect(try FileSystem.makeFolder(broken))
    let outcome = try scene.serialq("wait")
    let lines = outcome.errorText.split(separator: "\n")
    let what = "serialq: queue default: its runner ends repeatedly; its log says: serialq: "
    #expect(outcome.code == 125 && outcome.text == "" && lines.count == 2)
    #expect(lines.first?.hasPrefix(what) == true, "\(outcome.errorText)")
    #expect(lines.first?.contains("\(broken.text): it is not a regular file") == true)
    #expect(lines.last == "Try it in the foreground: serialq run")
    #expect(try scene.states() == [.waiting, .waiting])
    try #require(broken.withCString { rmdir($0) } == 0)
    #expect(try scene.serialq("wait").code == 0)
    #expect(try content(scene.path("rec")).text == "1\n2\n")
  }

  // Fails if it waits for the running job first, which ends only after both calls have reported; or
  // if the running job cannot be waited for.
  @Test("wait in a paused queue fails at once for waiting jobs, and waits for running ones")
  func paused() throws {
    _ = try scene.serialq("add", "read x <gate; exit 3")
    try scene.add("true")
    _ = try scene.waitForProcess(of: 1)
    #expect(try scene.serialq("pause").code == 0)
    for words in [["wait"], ["wait", "1", "2"]] {
      let outcome = try scene.serialq(words)
      expectRefusal(outcome, "queue default: it is paused; jobs waiting: 1")
    }
    let waiter = try scene.start("wait", "1")
    try gate.open()
    #expect(try waiter.wait().code == 3)
  }

  // Fails if one of the calls waits: the job would never end, or would print its own log up to a
  // size limit; or if another queue, or an ended job, is refused too.
  @Test("a job that would wait for its own queue is refused, and may wait for another")
  func ownQueue() throws {
    let line = """
      \(Scene.smallFiles) \
      for call in 'run true' wait 'wait 3' 'log -f 2' 'wait 1'; do serialq $call; echo $?; done; \
      serialq run -q other echo other; echo $?
      """
    try scene.add("true", line, "true")
    let run = try scene.serialq("run")
    let refusals = ["run", "wait", "wait", "log -f"].map { call in
      """
      serialq: \(call): job 2 of queue default calls it and would wait for itself
      Queue a job after it: serialq add; or use another queue: -q NAME
      125

      """
    }
    #expect(run.code == 0 && run.text == refusals.joined() + "0\nother\n0\n", "\(run.text)")
    #expect(try scene.states() == [.succeeded, .succeeded, .succeeded])
  }

  #if os(Linux)
    // Fails if the job is recognized only by its process group: `log -f` would copy the log into
    // itself, up to a size limit. Without its options, the address sanitizer would report what the
    // process keeps until its exit.
    @Test(
      "a process of a job that changed its group, session or variables is refused too",
      .needs(.setsid),
      arguments: [
        "timeout 1000", "setsid -w", "setsid -w timeout 1000", "env -u SERIALQ_JOB",
        "env -i SERIALQ_DIR=\"$SERIALQ_DIR\" PATH=\"$PATH\" ASAN_OPTIONS=$ASAN_OPTIONS timeout 1000",
      ])
    func ownQueueElsewhere(prefix: String) throws {
      try scene.add(
        "\(Scene.smallFiles) for call in 'run true' wait 'log -f 1'; do \(prefix) serialq $call; "
          + "echo $?; done")
      let run = try scene.serialq("run")
      let refusals = ["run", "wait", "log -f"].map { call in
        """
        serialq: \(call): job 1 of queue default calls it and would wait for itself
        Queue a job after it: serialq add; or use another queue: -q NAME
        125

        """
      }
      #expect(run.code == 0 && run.text == refusals.joined(), "\(run.text)")
    }
  #endif

  #if os(Linux)
    // Fails if one queue waits for another for ever: search the jobs of the awaited queue only. Or if
    // each marks what it waits for after its search: two can then miss each other.
    @Test("a job is refused to wait for a queue that waits for it, through any number of queues")
    func deadlock() throws {
      let inner = "serialq -q default wait; echo \\$?"
      let run = try scene.serialq("run", "serialq -q b run 'serialq -q c run \"\(inner)\"'")
      #expect(
        run.code == 0
          && run.text == """
            serialq: wait: job 1 of queue default waits for queue b, and job 1 of queue b waits for \
            queue c, and job 1 of queue c calls it and would wait for itself
            Queue a job instead: serialq add -q default; or use another queue: -q NAME
            125

            """,
        "\(run.text)")
      let pairs = [
        (["x", "-q", "y", "wait"], ["y", "-q", "x", "log", "-f", "1"]),
        (["v", "-q", "w", "wait"], ["w", "-q", "v", "attach"]),
      ]
      for pair in pairs {
        for words in [pair.0, pair.1] {
          let call = words.dropFirst().joined(separator: " ")
          let line = "read x <gate; serialq \(call); echo $? >\(words[0])"
          #expect(try scene.serialq("add", "-t", "-q", words[0], "-c", line).code == 0)
        }
        for _ in 1...2 { try gate.open() }
        #expect(try scene.serialq("wait", "--all").code == 0)
        let codes = try [pair.0, pair.1].map { try content(scene.path($0[0])).text }
        #expect(codes.contains("125\n"), "\(codes)")
      }
    }

    // Fails if only the lock and the group show that a process is one of the job's: leave out the descent.
    @Test(
      "a process that has left the job's group, session and lock is not left to wait for it",
      .needs(.bash, .setsid))
    func descendants() throws {
      func call(_ words: String) -> String { "bash -c 'exec 63>&-; setsid -w serialq \(words)'" }
      #expect(try scene.serialq("run", "-c", call("wait")).code == 125)
      for (queue, words) in [("x", "-q y wait"), ("y", "-q x wait")] {
        let line = "read x <gate; \(call(words)); echo $? >\(queue)"
        #expect(try scene.serialq("add", "-q", queue, "-c", line).code == 0)
      }
      for _ in 1...2 { try gate.open() }
      #expect(try scene.serialq("wait", "--all").code == 1)
      let codes = try ["x", "y"].map { try content(scene.path($0)).text }
      #expect(codes.contains("125\n"), "\(codes)")
    }

    // Fails if a job that waited for an earlier job is taken for one that still does: it has been
    // stopped since, and could not remove its mark. Or if a killed one is.
    @Test("a job can wait for a queue that waited for an earlier job of its own queue")
    func noDeadlock() throws {
      let waits = "(serialq -q y wait 1 & echo $! >pid; wait $!; serialq -q y wait 1; echo over)"
      for line in ["read x <gate", "serialq -q x wait"] {
        #expect(try scene.serialq("add", "-q", "y", "-c", line).code == 0)
      }
      #expect(try scene.serialq("add", "-q", "x", "-c", waits).code == 0)
      try scene.waitForFile("pid", "\n")
      let mark = try scene.queueFolder("y").waiters
      try waitUntil("the mark", watching: [scene.queueFolder("y").path]) {
        try FileSystem.status(of: mark) != nil
      }
      let pid = try #require(Int32(content(scene.path("pid")).text.dropLast()))
      #expect(kill(pid, SIGSTOP) == 0)
      try gate.open()
      try scene.waitForJob(2, in: "y", .running)
      // It waits, and is not refused.
      try waitUntil("the other mark", watching: [scene.queueFolder("x").path]) {
        try FileSystem.status(of: scene.queueFolder("x").waiters) != nil
      }
      #expect(kill(pid, SIGCONT) == 0)
      #expect(try scene.serialq("wait", "--all").code == 0)
      #expect(try scene.states("y") == [.succeeded, .succeeded])
    }
  #endif

  // Fails if only the variables are checked: all processes that a job left behind inherit them.
  @Test("a process that has a job's variables, but is not part of the job, can wait for it")
  func strangersVariables() throws {
    _ = try scene.serialq("add", "read x <gate")
    _ = try scene.waitForProcess(of: 1)
    let waited = try scene.serialq("wait", "--timeout", "1", "1") {
      $0.environment += [Bytes("SERIALQ_JOB=1"), Bytes("SERIALQ_QUEUE=default")]
    }
    #expect(waited.code == 124 && waited.errorText.contains("gave up after"))
    #expect(try scene.states() == [.running])
  }
}
