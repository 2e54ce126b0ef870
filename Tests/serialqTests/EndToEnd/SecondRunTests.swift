import SerialqQueue
@testable import SerialqRunner
@testable import SerialqSystem
import TestSupport
import Testing

/// Two runs of the same queue.
@Suite final class SecondRunTests: SceneSuite {
  // Fails if it prints for as long as the job does, which is longer than the test waits.
  @Test(
    "a run that follows a job that writes all the time ends by a signal",
    arguments: [SIGINT, SIGTERM])
  func endsWhileWriting(signal: Int32) throws {
    // At most 200 MB, should the test fail.
    let line = "ulimit -f 400000; while :; do echo y; done"
    #expect(try scene.serialq("add", line).code == 0)
    let run = try scene.start("run")
    try run.waitForAnyOutput()
    let outcome = try run.end(signal)
    #expect(outcome.status == .killed(signal))
    let stop = "stopped by \(SignalName.of(signal)); job 1 continues; nothing waits\n"
    #expect(outcome.errorText.hasSuffix(stop), "\(outcome.errorText)")
    #expect(try scene.serialq("cancel", "--signal", "KILL", "1").code == 0)
    try scene.waitForJob(1, .cancelled)
  }

  // Fails if the job is not named: the user would leave it in the queue without knowing it, or add
  // it again.
  @Test("a run that follows another and ends before its own job says that it still waits")
  func ownJobWaits() throws {
    try scene.addRunning("echo up; read x <gate", until: "up")
    let run = try scene.start("run", "true").waitForErrors("another runner is active")
    let stop = """
      stopped by SIGINT; job 1 continues; 1 still waiting; follow: serialq log -f
      Job 2 still waits; to cancel: serialq cancel 2

      """
    let outcome = try run.end(SIGINT)
    #expect(outcome.errorText.hasSuffix(stop), "\(outcome.errorText)")
    let second = try scene.start("run", "true").waitForErrors("another runner is active")
    #expect(try scene.serialq("pause").code == 0)
    try gate.open()
    let paused = try second.wait()
    #expect(paused.code == 125, "\(paused.errorText)")
    #expect(paused.errorText.hasSuffix("Job 3 still waits; to cancel: serialq cancel 3\n"))
  }

  // Fails if it ends with 0, as if its jobs had succeeded: return once the runner is done. Or with
  // 125, because the queue was paused before it printed the second job, and no longer is.
  @Test(
    "a run whose reader was slow does not end while its jobs run after a resume",
    arguments: [0, 300_000])
  func resumedUnseen(readBefore: Int) throws {
    let begin = try Gate(scene, "begin")
    let pager = try Gate(scene, "pager")
    let second = try Gate(scene, "second")
    // More than a pipe holds.
    let output = "yes | head -n 100000"
    let jobs = "\(output)\n\(output); read x <second\nread x <gate; exit 3\n"
    let reader = "{ read x <begin; head -c \(readBefore); read x <pager; cat; }"
    let script = "{ serialq run -f -; echo $? >code; } | \(reader)"
    #expect(try scene.serialq("set", "keep", "9").code == 0)
    let run = try scene.launch(["/bin/sh", "-c", script]) { $0.input = Bytes(jobs.utf8) }
    try scene.waitForJob(2, .running)
    #expect(try scene.serialq("pause").code == 0)
    try second.open()
    // The follower still prints the first job, or has not looked.
    try scene.waitForNoRunner()
    #expect(try scene.states() == [.succeeded, .succeeded, .waiting])
    try begin.open()
    // Now it prints the second job, and knows that the queue is paused.
    try waitUntil("the output before the pause") { run.output.count == readBefore }
    #expect(try scene.serialq("resume").code == 0)
    try scene.waitForJob(3, .running)
    try pager.open()
    try run.waitForErrors("following it")
    try gate.open()
    #expect(try run.wait().text == String(repeating: "y\n", count: 200_000))
    #expect(try content(scene.path("code")).text == "1\n")
  }

  // Fails if the second run also runs jobs, prints nothing, or covers only its own jobs.
  @Test(
    "a second run follows the first, prints what it runs, and exits as its own command",
    .shows(Running.oneRunner))
  func follows() throws {
    try scene.add("echo begun; read x <gate; echo over", "echo two; exit 3")
    let first = try scene.start("run").waitForOutput("begun")
    let second = try scene.start("run", "echo three").waitForErrors("another runner is active")
    try second.waitForOutput("begun")
    #expect(try scene.states() == [.running, .waiting, .waiting])
    try gate.open()
    for (run, code) in [(first, 1), (second, 0)] as [(LaunchedProgram, Int32)] {
      let outcome = try run.wait()
      #expect(outcome.code == code)
      #expect(outcome.text == "begun\nover\ntwo\nthree\n")
      #expect(outcome.errorText.contains("job 2 failed with exit code 3"))
    }
    #expect(try scene.states() == [.succeeded, .failed, .succeeded])
  }

  // Fails if a follower that receives many events at once reports jobs in the order in which they
  // were added or named, or restarts a log. Stopped, it is as slow as possible.
  @Test("a slow follower prints everything once and in order")
  func fallsBehind() throws {
    try scene.add("echo begun; read x <gate; echo over", "echo two; exit 3")
    let first = try scene.start("run").waitForOutput("begun")
    let second = try scene.start("run")
    let third = try scene.start("log", "-f")
    for follower in [second, third] { try follower.waitForOutput("begun") }
    for follower in [second, third] { follower.send(SIGSTOP) }
    try scene.add("echo three", "echo four")
    try gate.open()
    #expect(try first.wait().code == 1)
    for follower in [second, third] {
      #expect(try follower.end(SIGCONT).text == "begun\nover\ntwo\nthree\nfour\n")
    }
  }

  // Fails if a follower treats the death of the runner as the end of the queue.
  @Test("a second run takes over when the first is killed")
  func takesOver() throws {
    try scene.add("echo begun; read x <gate; echo over", "echo two")
    let first = try scene.start("run").waitForOutput("begun")
    let second = try scene.start("run").waitForErrors("another runner is active")
    _ = try first.end(SIGKILL)
    try second.waitForErrors("still running after its runner died; waiting for it to end")
    try gate.open()
    let outcome = try second.wait()
    #expect(outcome.text == "begun\nover\ntwo\n")
    #expect(outcome.code == 1)
    #expect(try scene.states() == [.interrupted, .succeeded])
  }

  // Fails if the lock is checked and taken in two steps.
  @Test(
    "of many runs started at once one becomes the runner, and each job runs once",
    .shows(Running.oneRunner))
  func manyAtOnce() throws {
    for id in 1...10 { try scene.add("echo \(id) >>rec") }
    let runs = try (0..<6).map { _ in try scene.start("run") }
    for run in runs { #expect(try run.wait().code == 0) }
    let expected = (1...10).map { "\($0)\n" }.joined()
    #expect(try content(scene.path("rec")).text == expected)
  }

  // Fails if a process that checks a lock blocks other checks, or counts as a runner or a job: here
  // a process is stopped in the middle of a check.
  @Test("two concurrent readers of a queue get the same result", .shows(Running.kernelLock))
  func twoReaders() throws {
    try scene.add("true", "true")
    try scene.write(.start(1, at: Clock.reading()))
    let runnerLock = try RunnerLock.open(scene.queueFolder())
    let jobLock = try JobLock.take(1, scene.queueFolder())
    jobLock.unlock()
    #expect(try runnerLock.tryLockShared() && jobLock.tryLockShared())
    let status = try scene.serialq("status")
    #expect(status.text.contains("its runner and the job died"))
    let follower = try scene.start("log", "-f", "2").waitForErrors("has no active runner")
    let run = try scene.start("run", "echo 3")
    try scene.waitForJob(3, .waiting)
    runnerLock.unlock()
    jobLock.unlock()
    let outcome = try run.wait()
    #expect(outcome.text == "3\n" && outcome.code == 0)
    #expect(!outcome.errorText.contains("another runner"))
    #expect(!outcome.errorText.contains("still running"))
    #expect(try follower.wait().code == 0)
  }
}
