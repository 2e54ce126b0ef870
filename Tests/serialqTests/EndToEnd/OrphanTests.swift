import Foundation
@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// Processes that outlive their parent.
@Suite final class OrphanTests: SceneSuite {
  // Fails if the job does not inherit its lock, or recovery does not wait for it: job 2 would run
  // while job 1 still does.
  @Test(
    "a job whose runner was killed delays the next one until it has ended",
    .shows(Running.orphans, Running.orphansAreNamed))
  func holdsUp() throws {
    try scene.add("echo begun; read x <gate; echo over >>rec", "echo next >>rec; echo next")
    let job = try scene.orphanJob(printing: "begun")

    let status = try scene.serialq()
    #expect(status.text.contains("its runner died; the next job waits for this one to end"))
    #expect(status.text.contains("process \(job)"))
    #expect(status.text.contains("serialq cancel 1"))

    let second = try scene.start("run").waitForErrors(
      "still running after its runner died; waiting for it to end")
    #expect(second.errors.text.contains("\(job)"))
    #expect(try scene.states() == [.running, .waiting])
    try gate.open()
    let outcome = try second.wait()
    #expect(outcome.code == 1)
    #expect(outcome.text == "begun\nnext\n")
    // Reported once.
    #expect(outcome.errorText.components(separatedBy: "interrupted").count == 2)
    let after = try scene.serialq("run")
    #expect(after.code == 0 && after.errorText == "" && after.text == "")
    #expect(try scene.states() == [.interrupted, .succeeded])
    #expect(try content(scene.path("rec")).text == "over\nnext\n")
  }

  // Fails if the command that `status` suggests does not end the job with all its processes.
  @Test(
    "an orphan is ended by the command that status suggests", .shows(Running.orphansAreNamed),
    .needs(.bash))
  func ended() throws {
    try scene.add("(read x <gate; echo grandchild); true", "echo next")
    try scene.orphanJob()
    let advice = "serialq cancel 1"
    #expect(try scene.serialq().text.contains(advice))
    let second = try scene.start("run").waitForErrors("waiting for it to end")
    #expect(second.errors.text.contains("To end it: \(advice)\n"))
    #expect(try scene.script(advice).code == 0)
    let outcome = try second.wait()
    #expect(outcome.text == "next\n" && outcome.code == 1)
  }

  // Fails if the runner waits for the lock after a job that ended by itself, or for its output to
  // be closed.
  @Test("a process that a job left behind does not delay the queue", .shows(Running.leftovers))
  func leftBehind() throws {
    try scene.add("(read x <gate; echo late >>rec) & echo first", "echo second")
    let run = try scene.serialq("run")
    #expect(run.text == "first\nsecond\n" && run.errors.isEmpty && run.code == 0)
    let again = try scene.serialq("run", "echo third")
    #expect(again.text == "third\n" && again.errors.isEmpty && again.code == 0)
    #expect(try FileDescriptor.openIfThere(scene.path("rec"), .read) == nil)
    try gate.open()
    try scene.waitForFile("rec", "late")
  }

  // Fails if a stop is checked only between jobs: here there is no job to end, only an orphan to
  // wait for.
  @Test("a run that waits for an orphan stops at once, and does not signal the orphan")
  func stopWhileWaiting() throws {
    try scene.add("echo begun; read x <gate; echo over >>rec", "echo next")
    let first = try scene.start("run").waitForOutput("begun")
    _ = try first.end(SIGKILL)
    let second = try scene.start("run").waitForErrors("waiting for it to end")
    #expect(try second.end(SIGINT).code == 128 + SIGINT)
    #expect(try scene.states() == [.running, .waiting])
    try gate.open()
    try scene.waitForFile("rec", "over")
    #expect(try scene.serialq("run").code == 1)
    #expect(try scene.states() == [.interrupted, .succeeded])
  }

  #if os(Linux)
    // Fails if a runner waits only for the job's lock: a process outside the job's process group
    // must not delay the queue, as after a job with a known end.
    @Test("a process that an orphan left behind does not delay the queue", .needs(.flock, .setsid))
    func leftByOrphan() throws {
      let daemonGate = try Gate(scene, "daemon-gate")
      let daemon = "exec 9>&-; exec setsid sh -c 'read x <daemon-gate'"
      // A lock of its own shows when its first process has ended.
      try scene.add(
        "exec 9>alive; flock 9; (\(daemon)) & echo begun; read x <gate", "echo next")
      try scene.orphanJob(printing: "begun")
      let alive = try FileDescriptor.open(scene.path("alive"), .readWrite)
      try gate.open()
      try alive.lock()
      alive.unlock()
      #expect(try scene.serialq("status").text.contains("kill --") == false)
      let outcome = try scene.serialq("run")
      #expect(outcome.text == "begun\nnext\n" && outcome.code == 1)
      #expect(try scene.states() == [.interrupted, .succeeded])
      withExtendedLifetime(daemonGate) {}
    }

    // Fails if a job is found only by the id that its runner recorded: this runner died before
    // that.
    @Test("an orphan whose process id was not recorded can be ended")
    func withoutNumber() throws {
      try scene.add("echo begun; read x <gate", "echo next")
      try scene.orphanJob()
      let journal = try scene.queueFolder().journal.text
      #expect(try scene.script("sed -i '/\"pid\":/d' '\(journal)'").code == 0)
      #expect(try scene.queue().job(1)?.running?.pid == nil)
      #expect(try scene.serialq("cancel", "--signal", "KILL", "1").code == 0)
      #expect(try scene.serialq("wait", "2").code == 0)
      #expect(try scene.states() == [.cancelled, .succeeded])
    }
  #endif
}
