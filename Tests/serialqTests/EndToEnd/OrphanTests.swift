import Foundation
@testable import SerialqQueue
@testable import SerialqRunner
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
    #expect(second.errors.text.contains("To end it: serialq cancel 1\n"))
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

  // Fails if the file of a job that never ran stays, or that of a process which still holds its
  // lock goes.
  @Test("a runner removes the lock files that killed ones left, unless a process holds the lock")
  func lockFiles() throws {
    try scene.add("echo begun; read x <gate", "true")
    let folder = try scene.queueFolder()
    let runner = try scene.start("run").waitForOutput("begun")
    try waitUntil("the lock of job 2", watching: [folder.locks]) {
      try FileSystem.names(in: folder.locks).contains(Bytes("2"))
    }
    _ = try runner.end(SIGKILL)
    // Before `cancel` starts a runner, which could remove the file before its lock is taken.
    let left = try JobLock.take(9, folder)
    try gate.open()
    #expect(try scene.serialq("cancel", "2").code == 0)
    _ = try scene.serialq("run", "true")
    #expect(try scene.states() == [.interrupted, .cancelled, .succeeded])
    #expect(try FileSystem.names(in: folder.locks) == [Bytes("9")])
    left.unlock()
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

  // Fails if only the runner that starts a job limits its log.
  @Test("the log of a job whose runner died is cut when it is over")
  func orphan() throws {
    #expect(try scene.serialq("set", "log-limit", "1K").code == 0)
    try scene.add("echo begun; read x <gate; seq 1 1000")
    try scene.orphanJob(printing: "begun")
    let run = try scene.start("run")
    try scene.waitForWait(for: 1)
    try gate.open()
    #expect(try run.wait().code == 1)
    let log = try scene.log(1)
    #expect(log.count <= 1_024 && log.text.contains("(log-limit 1K)\n"), "\(log.text)")
    #expect(log.text.hasPrefix("begun\n1\n") && log.text.hasSuffix("\n1000\n"))
  }
}
