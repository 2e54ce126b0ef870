@testable import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// Lock files that another program removes, as a cleaner of temporary files does.
@Suite final class RemovedLocksTests: SceneSuite {
  private static let jobs = [
    "echo begun; read x <gate; echo over >>rec", "echo next >>rec; echo next",
  ]

  private func remove(_ path: Bytes) throws {
    #expect(try scene.script("rm -r '\(path.text)'").code == 0)
  }

  #if os(Linux)
    // Fails if the runner starts job 2 beside the new one, or if that one records the end of job 1:
    // it would be interrupted.
    @Test(
      "a runner whose lock file was removed starts no other job, and records the end of its own",
      .shows(Running.oneRunner, Running.order))
    func anotherRunner() throws {
      let folder = try scene.queueFolder()
      try scene.addRunning(Self.jobs[0], until: "begun")
      let first = try #require(try scene.runner())
      _ = try scene.waitForProcess(of: 1)
      try remove(folder.runnerLock)
      #expect(try scene.serialq("add", Self.jobs[1]).code == 0)
      #expect(try scene.waitForRunner() != first)
      try waitUntil("a runner that waits for the first", watching: [folder.path]) {
        let log = try FileDescriptor.openIfThere(folder.runnerLog, .read)?.readAll()
        return log?.text.contains("job 1 belongs to a runner whose lock file was removed") == true
      }
      #expect(try scene.states() == [.running, .waiting])
      let handle = ProcessHandle(first)
      try gate.open()
      #expect(try scene.serialq("wait").code == 0)
      #expect(try handle.waitForEnd(until: LaunchedProgram.deadline()) != false)
      #expect(try content(scene.path("rec")).text == "over\nnext\n")
      #expect(try scene.states() == [.succeeded, .succeeded])
      #expect(try content(folder.runnerLog).text.contains("another runner is active"))
    }

    // Fails if the new runner ends, signals or gives up the job of the first, which is canceled
    // there.
    @Test("a job of a runner without a lock file is canceled by that runner alone")
    func cancelled() throws {
      let job = "trap 'echo term >>rec; exit 0' TERM; echo begun; read x <gate & wait"
      try scene.addRunning(job, until: "begun")
      _ = try scene.waitForProcess(of: 1)
      try remove(scene.queueFolder().runnerLock)
      #expect(try scene.serialq("add", Self.jobs[1]).code == 0)
      #expect(try scene.serialq("cancel", "1").code == 0)
      #expect(try scene.serialq("wait", "2").code == 0)
      #expect(try scene.states() == [.cancelled, .succeeded])
      #expect(try scene.queue().job(1)?.ending == .exited(0))
      #expect(try content(scene.path("rec")).text == "term\nnext\n")
      try gate.open()
    }

    // Fails if a new runner does not wait for an orphan whose lock file was removed.
    @Test(
      "an orphan whose lock file was removed still delays the next job", .shows(Running.orphans))
    func orphan() throws {
      try scene.add(Self.jobs[0], Self.jobs[1])
      try scene.orphanJob(printing: "begun")
      try remove(scene.queueFolder().locks)
      let second = try scene.start("run").waitForErrors("still running after its runner died")
      #expect(try scene.states() == [.running, .waiting])
      try gate.open()
      _ = try second.wait()
      #expect(try content(scene.path("rec")).text == "over\nnext\n")
      #expect(try scene.states() == [.interrupted, .succeeded])
    }

    // Fails if the job counts as interrupted, and the next one starts beside it: find no runner
    // without the process of the job.
    @Test("a job whose process is not recorded yet belongs to the runner of a removed lock file")
    func unrecorded() throws {
      try scene.add("true", "echo next >>rec")
      let folder = try scene.queueFolder()
      let lock = try RunnerLock.open(folder)
      #expect(try lock.tryLock())
      try scene.write(.start(1))
      try remove(folder.runnerLock)
      #expect(try scene.serialq("start").code == 0)
      try waitUntil("a runner that waits for this process", watching: [folder.path]) {
        let log = try FileDescriptor.openIfThere(folder.runnerLog, .read)?.readAll()
        return log?.text.contains("job 1 belongs to a runner whose lock file was removed") == true
      }
      #expect(try scene.states() == [.running, .waiting])
      try scene.write(.end(1, .exited(0), duration: 0))
      #expect(try scene.serialq("wait").code == 0)
      #expect(try scene.states() == [.succeeded, .succeeded])
      lock.unlock()
    }
  #endif

  // Fails if the keeper of the terminal ends when it finds no lock of the job, or cannot make its
  // own.
  @Test("a job with a terminal runs to its end if its lock file was removed before it started")
  func terminal() throws {
    let folder = try scene.queueFolder()
    for line in ["echo begun; read x <gate", "sleep 0.1; echo next"] {
      #expect(try scene.serialq("add", "--no-start", "-t", "-c", line).code == 0)
    }
    #expect(try scene.serialq("start").code == 0)
    try waitUntil("the lock of job 2", watching: [folder.locks]) {
      try FileSystem.status(of: folder.jobLock(2)) != nil
    }
    try remove(folder.locks)
    try gate.open()
    #expect(try scene.serialq("wait").code == 0)
    #expect(try scene.states() == [.succeeded, .succeeded])
    #expect(try scene.log(2).text == "next\r\n")
  }

  // Fails if `run` ends before its jobs have run, or runs them beside another runner.
  @Test("a run whose lock file was removed follows the runner that was started meanwhile")
  func follows() throws {
    try scene.add(Self.jobs[0])
    let run = try scene.start("run").waitForOutput("begun")
    _ = try scene.waitForProcess(of: 1)
    try remove(scene.queueFolder().runnerLock)
    #expect(try scene.serialq("add", Self.jobs[1]).code == 0)
    try gate.open()
    let outcome = try run.wait()
    #expect(outcome.code == 0 && outcome.text == "begun\nnext\n", "\(outcome.errorText)")
    #expect(outcome.errorText.contains("runner.lock was removed"))
    #expect(try content(scene.path("rec")).text == "over\nnext\n")
    #expect(try scene.states() == [.succeeded, .succeeded])
  }

  // Fails if the runner ends because of a missing folder, or does not lock a new file.
  @Test("a runner continues with new lock files if all are removed with their folder")
  func allFiles() throws {
    let folder = try scene.queueFolder()
    try scene.add(Self.jobs[0], "true", "echo last; read x <gate")
    let run = try scene.start("run").waitForOutput("begun")
    _ = try scene.waitForProcess(of: 1)
    for path in [folder.runnerLock, folder.lock, folder.locks] { try remove(path) }
    try gate.open()
    try run.waitForOutput("last")
    // The files of job 2 were made before.
    #expect(try RunnerLock.isHeld(folder) && JobLock.isHeld(3, folder))
    try gate.open()
    let outcome = try run.wait()
    #expect(outcome.code == 0, "\(outcome.errorText)")
    #expect(try scene.states() == [.succeeded, .succeeded, .succeeded])
  }
}
