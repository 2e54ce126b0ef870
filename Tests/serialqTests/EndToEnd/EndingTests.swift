import Foundation
import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// Jobs that are canceled, time out, or fail and are retried.
@Suite(.beside) final class EndingTests: SceneSuite {
  // Fails if the queue looks stuck while the command runs.
  @Test("status says between two jobs that the on-finish command may be running")
  func betweenJobs() throws {
    #expect(try scene.serialq("set", "on-finish", "echo up; read x <gate").code == 0)
    try scene.add("true", "true")
    #expect(try scene.serialq("start").code == 0)
    let log = try scene.queueFolder().hookLog
    try waitUntil("the command", watching: [scene.queueFolder().path]) {
      try FileSystem.status(of: log) != nil && content(log) == Bytes("up\n")
    }
    let status = try scene.serialq()
    #expect(status.text.contains("The on-finish command of the last job may be running.\n"))
    try gate.open()
    try gate.open()
    #expect(try scene.serialq("wait").code == 0)
  }

  // Fails if a failure is not named, a success is, or anything of it is in the jobs' output.
  @Test("without a terminal, run names each failed job on standard error")
  func namedFailures() throws {
    let lines = ["echo one; exit 3", "true", "kill -9 $$"]
    let first = try scene.serialq("run", "-f", "-") {
      $0.input = Bytes(lines.joined(separator: "\n").utf8)
    }
    try scene.add(lines[0], lines[1], lines[2])
    for (start, outcome) in [(1, first), (4, try scene.serialq("run"))] {
      #expect(outcome.code == 1 && outcome.text == "one\n")
      #expect(
        outcome.errorText.replacing(/after .+?s:/, with: "after TIME:") == """
          serialq: job \(start) failed with exit code 3 after TIME: echo one; exit 3
          serialq: job \(start + 2) was killed by SIGKILL after TIME: kill -9 $$
          serialq: 1 of 3 succeeded
          Output of job \(start): serialq log \(start)

          """)
    }
  }

  // Fails if requests are not read under the lock that records the end: a job that was reported as
  // being canceled would start again.
  @Test("a cancel that races with the end of the job prevents a retry")
  func cancelAtTheEnd() throws {
    _ = try scene.serialq("add", "--retries", "3", "echo x >>rec; read x <gate; exit 1")
    _ = try scene.waitForProcess(of: 1)
    let folder = try scene.queueFolder()
    let lock = try #require(try JobLock.existing(1, folder))
    let run = try #require(try scene.queue().job(1)?.status.requested(SIGTERM, at: Clock.reading()))
    // Runs while the runner, which has detected the exit, waits for the lock to record it.
    try Journal(folder).locked { (scope) throws(Failure) in
      try gate.open()
      try lock.lock()
      lock.unlock()
      try scope.append([.status(1, run)])
    }
    #expect(try scene.serialq("wait", "1").code == 1)
    #expect(try scene.states() == [.cancelled])
    #expect(try content(scene.path("rec")).text == "x\n")
  }

  // Fails if every canceled job has the same code, or one that exits with 0 counts as a success.
  @Test(
    "wait for a job that is canceled while it runs exits as the job did, but never with 0",
    arguments: [("", 128 + SIGTERM), ("trap 'exit 0' TERM;", 1)])
  func cancelledCode(trap: String, code: Int32) throws {
    try scene.addRunning("\(trap) echo up; sleep 1000", until: "up")
    #expect(try scene.serialq("cancel", "1").code == 0)
    #expect(try scene.serialq("wait", "1").code == code)
    #expect(try scene.states() == [.cancelled])
  }

  // Fails if the second cancel looks like the first, or nothing shows that the job is to end.
  @Test(
    "a second cancel says that the job is already being ended, and list shows it as ending",
    .needs(.tmux, .bash))
  func cancelledAgain() throws {
    try scene.addRunning("trap '' TERM; echo up; while :; do read x <gate; done", until: "up")
    let terminal = try Terminal(scene, columns: 100)
    try terminal.type("clear; serialq cancel 1; serialq cancel --running")
    let end = " with SIGTERM, and with SIGKILL after 10 seconds"
    let advice = [
      "End it at once: serialq cancel --signal KILL 1", "Wait for its end: serialq wait 1",
    ]
    try terminal.waitFor("two messages") { screen in
      screen == ["serialq: job 1 is being ended\(end)"] + advice
        + ["serialq: job 1 is already being ended\(end)"] + advice + ["$"]
    }
    #expect(try scene.serialq("list", "--state", "running").text.contains(" ending "))
    #expect(try scene.serialq("cancel", "--signal", "KILL", "1").code == 0)
    try scene.waitForJob(1, .cancelled)
  }

  // Fails if a canceled waiting job starts, or --all omits one.
  @Test("cancel prevents waiting jobs from running, and --all ends everything")
  func cancelWaiting() throws {
    try scene.add("echo 1 >>rec", "echo 2 >>rec", "echo 3 >>rec")
    #expect(try scene.serialq("cancel", "2").code == 0)
    expectRefusal(try scene.serialq("cancel", "1", "2"), "job 2: it has finished: it was cancelled")
    #expect(try scene.serialq("run").code == 0)
    #expect(try content(scene.path("rec")).text == "1\n3\n")
    _ = try scene.serialq("add", "echo up; sleep 1000")
    _ = try scene.serialq("add", "true")
    try scene.waitForLog(4, "up")
    #expect(try scene.serialq("cancel", "--all").code == 0)
    try scene.waitForJob(4, .cancelled)
    #expect(try scene.states().suffix(2) == [.cancelled, .cancelled])
  }

  // Fails if a run treats a retry as the end of the job, or misses an attempt's output.
  @Test("a run prints every attempt, and fails only if the last one did")
  func retriesShown() throws {
    let line = "echo attempt; echo x >>rec; [ $(wc -l <rec) -ge 3 ]"
    let run = try scene.serialq("run", "--retries", "2", "--retry-delay", "1", line)
    #expect(run.text == "attempt\nattempt\nattempt\n" && run.code == 0, "\(run.errorText)")
    for attempt in 1...2 {
      #expect(run.errorText.contains("job 1 failed, attempt \(attempt); retrying"))
    }
    // A late reader gets all of it.
    #expect(try scene.log(1).text == run.text)
    let late = try scene.serialq("log", "-f", "1")
    #expect(late.text == run.text)
  }

  // Fails if a chain continues after a failure, or a part of it stays skipped.
  @Test(
    "--if-ok skips the chain after a failure, and retry runs it again in order",
    arguments: ["--failed", "1"])
  func chain(selection: String) throws {
    // No job ran before the first.
    for line in ["echo 1 >>rec; [ -e fixed ]", "echo 2 >>rec", "echo 3 >>rec"] {
      #expect(try scene.serialq("add", "--no-start", "--if-ok", line).code == 0)
    }
    try scene.add("echo 4 >>rec")
    #expect(try scene.serialq("wait").code == 1)
    #expect(try scene.states() == [.failed, .skipped, .skipped, .succeeded])
    #expect(try scene.serialq("show", "3").text.contains("because job 1 did not succeed"))
    try write([], to: scene.path("fixed"))
    #expect(try scene.serialq("retry", selection).code == 0)
    #expect(try scene.serialq("wait").code == 0)
    #expect(try content(scene.path("rec")).text == "1\n4\n1\n2\n3\n")
  }

  // Fails if the skip of job 4, which is not in its turn, counts as the result of the job before job 2.
  @Test("a cancelled job has no effect on the --if-ok jobs in front of it")
  func cancelBehind() throws {
    #expect(try scene.serialq("run", "true").code == 0)
    for line in ["echo two", "echo three", "echo four"] {
      #expect(try scene.serialq("add", "--no-start", "--if-ok", line).code == 0)
    }
    #expect(try scene.serialq("cancel", "3").code == 0)
    #expect(try scene.serialq("wait", "2").code == 0)
    #expect(try scene.states() == [.succeeded, .succeeded, .cancelled, .skipped])
  }

  // Fails if the queue continues after a failure that must stop it, or the reason is not reported.
  @Test("on-failure stop pauses the queue, and reports which job caused it")
  func stopOnFailure() throws {
    #expect(try scene.serialq("set", "on-failure", "stop").code == 0)
    try scene.add("exit 3", "echo 2 >>rec")
    let waited = try scene.serialq("wait")
    #expect(waited.code == 1 && waited.errorText.contains("because job 1 failed"))
    #expect(try scene.states() == [.failed, .waiting])
    #expect(try scene.serialq("resume").code == 0)
    #expect(try scene.serialq("wait", "2").code == 0)
  }

  // Fails if the hook runs concurrently with the next job, does not receive its job, or its failure
  // is lost.
  @Test("the hook runs after each job, receives its data, and its failure is reported")
  func hook() throws {
    let line =
      "echo hook $SERIALQ_JOB $SERIALQ_STATE $SERIALQ_EXIT $TOLD >>rec; [ $SERIALQ_JOB = 1 ]"
    let set = try scene.serialq("set", "on-finish", line) {
      $0.environment.append(Bytes("TOLD=yes"))
    }
    #expect(set.code == 0)
    try scene.add("echo 1 >>rec", "echo 2 >>rec; exit 7")
    _ = try scene.serialq("wait")
    try scene.waitForFile("rec", "hook 2")
    #expect(
      try content(scene.path("rec")).text
        == "1\nhook 1 succeeded 0 yes\n2\nhook 2 failed 7 yes\n")
    try scene.waitForJob(2) { $0.over?.hookFailure == .exited(1) }
    #expect(try scene.queue().job(1)?.over?.hookFailure == nil)
  }

  // Fails if the hook's failure is only in the journal; if a skipped job, which runs no hook, hides
  // it; or if the report names a log that now belongs to a later hook.
  @Test("the hook's failure is reported by show, and by status until a later hook runs")
  func hookFailure() throws {
    let line = "echo no such host; [ $SERIALQ_JOB -ge 3 ] || exit 2"
    #expect(try scene.serialq("set", "on-finish", line).code == 0)
    try scene.add("exit 1")
    #expect(try scene.serialq("add", "--no-start", "--if-ok", "true").code == 0)
    #expect(try scene.serialq("run").code == 1)
    let log = try scene.queueFolder().hookLog
    let reported = try scene.serialq().text
    #expect(reported.contains("\nThe on-finish command of job 1 failed with exit code 2.\n"))
    #expect(reported.contains("\nOutput of on-finish:  cat \(log.text)\n"), "\(reported)")
    #expect(try content(log) == Bytes("no such host\n"))
    #expect(try scene.serialq("show", "1").text.contains("on-finish  failed with exit code 2\n"))
    #expect(try !scene.serialq("show", "2").text.contains("on-finish"))
    let failures = try scene.listed().map { $0["onFinishFailure"] as? [String: Any] }
    #expect(failures.map { $0?["exitCode"] as? Int } == [2, nil])
    #expect(failures[0]?["signal"] is NSNull)
    #expect(try scene.serialq("set", "on-finish", "").code == 0)
    #expect(try !scene.serialq().text.contains("on-finish"))
    #expect(try scene.serialq("set", "on-finish", line).code == 0)
    #expect(try scene.serialq("run", "true").code == 0)
    #expect(try !scene.serialq().text.contains("on-finish"))
    #expect(try scene.serialq("show", "1").text.contains("on-finish  failed with exit code 2\n"))
  }

  // Fails if a run that did not apply a time limit says nothing of it.
  @Test("a run that was stopped says that a time limit has passed meanwhile")
  func stoppedRun() throws {
    let line = "kill -STOP $PPID; sleep 2.2; kill -CONT $PPID; exec sleep 1000"
    let run = try scene.serialq("run", "--timeout", "1", line)
    #expect(run.code == 124)
    #expect(
      run.errorText.contains(
        #/serialq: job 1: its time limit passed \d\.\ds ago, while serialq did not run; it is ended now\n/#
      ), "\(run.errorText)")
  }
}
