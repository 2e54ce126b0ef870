import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// Jobs with a terminal of their own, without an attached one.
@Suite(.beside) final class TerminalJobTests: SceneSuite {
  // Fails if the keeper ends with its runner, or the next runner records the end too early.
  @Test(
    "a job with a terminal outlives its runner, and its log is complete", .shows(Running.orphans))
  func orphan() throws {
    try scene.addRunning("-t", "-c", "echo begun; read x <gate; seq 20000", until: "begun")
    #expect(try scene.serialq("add", "echo next").code == 0)
    try scene.killRunner()
    #expect(try scene.serialq("start").code == 0)
    try scene.waitForWait(for: 1)
    try gate.open()
    #expect(try scene.serialq("wait", "2").code == 0)
    #expect(try scene.states() == [.interrupted, .succeeded])
    #expect(try scene.log(1).text.hasSuffix("\r\n20000\r\n"))
  }

  // Fails if a keeper waits for a signal only: no runner sends it.
  @Test("the keeper of a job whose runner died ends with the job", .shows(Running.orphans))
  func keeperEnds() throws {
    try scene.addRunning("-t", "-c", "echo begun; read x <gate; echo over", until: "begun")
    try scene.killRunner()
    let lock = try FileDescriptor.open(scene.queueFolder().keeperLock(1), .readWrite)
    try gate.open()
    try lock.lock()
    lock.unlock()
    #expect(try scene.log(1).text == "begun\r\nover\r\n")
  }

  // Fails if a stopped keeper is not continued: the runner would wait for it forever.
  @Test("a job whose keeper was stopped ends with all its output, and the next one runs")
  func stoppedKeeper() throws {
    try scene.addRunning("-t", "-c", "echo begun; read x <gate; echo over", until: "begun")
    try scene.add("echo next")
    _ = try scene.waitForProcess(of: 1)
    let keeper = try #require(KeeperLock.keeper(1, scene.queueFolder()))
    #expect(keeper.handle.send(SIGSTOP) == 0)
    try gate.open()
    #expect(try scene.serialq("wait", "1-2").code == 0)
    #expect(try scene.log(1).text == "begun\r\nover\r\n")
  }

  // Fails if the loss is mentioned only when the job is over.
  @Test("status and show say that a job that ignores the hangup has lost its terminal")
  func lostTerminal() throws {
    #expect(
      try scene.serialq("add", "-t", "-c", "trap '' HUP; echo begun; read x <gate").code == 0)
    try scene.waitForLog(1, "begun")
    _ = try scene.waitForProcess(of: 1)
    let process = try #require(KeeperLock.keeper(1, scene.queueFolder())?.handle)
    let lock = try FileDescriptor.open(scene.queueFolder().keeperLock(1), .readWrite)
    #expect(process.send(SIGKILL) == 0)
    try lock.lock()
    lock.unlock()
    #expect(try scene.serialq().text.contains("its terminal is gone: its keeper was killed"))
    #expect(try scene.serialq("show", "1").text.contains("killed: the terminal is gone"))
    try gate.open()
    #expect(try scene.serialq("wait", "1").code == 0)
  }

  // Fails if output that cannot be written holds up the job, or is not mentioned.
  @Test(
    "a log that cannot be written does not hold up the job, and the journal says so",
    .enabled(if: !isSanitized, "a sanitizer does not start within such a limit"))
  func fullLog() throws {
    // A limit on the size of files stands for a full disk.
    let run = try scene.script(
      "ulimit -f 40; serialq add -t -c 'seq 100000; echo >>done' && serialq wait")
    #expect(run.code == 0, "\(run.errorText)")
    #expect(try scene.states() == [.succeeded])
    try scene.waitForFile("done", "\n")
    #expect(try scene.queue().job(1)?.execution?.unlogged?.text.contains("File too large") == true)
    #expect(try scene.serialq("show", "1").text.contains("File too large"))
  }
}
