import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// Jobs with a terminal of their own, without an attached one.
@Suite(.beside) final class TerminalJobTests: SceneSuite {
  /// Runs one job with a terminal; returns its log as text.
  private func log(of line: String, code: Int32 = 0) throws -> String {
    let outcome = try scene.serialq("add", "-t", "-c", line)
    let id = try #require(JobID(outcome.text.split(separator: "\n").first ?? ""))
    #expect(try scene.serialq("wait", "\(id)").code == code)
    return try scene.log(id).text.replacing("\r\n", with: "\n")
  }

  // Fails if only standard output is a terminal, or it is not the controlling one.
  @Test("standard input, output and error of the job are its controlling terminal")
  func terminal() throws {
    let line = "test -t 0 && test -t 1 && test -t 2 && tty && echo hello >/dev/tty"
    let text = try log(of: line)
    #expect(text.hasPrefix("/dev/pts/") && text.hasSuffix("\nhello\n"))
    #expect(try scene.queue().job(1)?.hadTerminal == true)
  }

  // Fails if the setting is read when the job is added, or a job without it has a terminal.
  @Test("with set tty on, every job that starts has a terminal, except one with an input")
  func setting() throws {
    let line = "if test -t 0; then echo terminal; else echo none; fi"
    #expect(try scene.serialq("pause").code == 0)
    #expect(try scene.serialq("add", "-c", line).code == 0)
    #expect(
      try scene.serialq("add", "-i", "-", "-c", line) { $0.input = Bytes("x") }.code == 0)
    #expect(try scene.serialq("set", "tty", "on").code == 0)
    #expect(try scene.serialq("resume").code == 0)
    #expect(try scene.serialq("wait").code == 0)
    #expect(try scene.log(1).text == "terminal\r\n")
    #expect(try scene.log(2).text == "none\n")
    #expect(try scene.serialq("set", "tty", "off").code == 0)
    #expect(try scene.serialq("run", "-c", line).text == "none\n")
  }

  // Fails if the last output is lost, or the code is that of the keeper.
  @Test("the exit status is that of the job, and its log is complete")
  func ending() throws {
    #expect(try log(of: "seq 20000; exit 3", code: 3).hasSuffix("\n20000\n"))
    #expect(try scene.log(1).count == (1...20_000).reduce(0) { $0 + "\($1)".utf8.count + 2 })
    _ = try log(of: "kill -9 $$", code: 137)
    #expect(try scene.states() == [.failed, .killed])
    try scene.waitForNoRunner()
    #expect(try FileSystem.names(in: scene.queueFolder().path + Bytes("/locks")).isEmpty)
  }

  // Fails if the job's session has another size than the terminal of the call.
  @Test("without a terminal of the caller, the job's has 80 columns and 24 rows")
  func size() throws {
    #expect(try log(of: "stty size") == "24 80\n")
  }

  // Fails if a program that cannot be run leaves a keeper behind.
  @Test("a program that is not found fails the job and leaves no process behind")
  func notFound() throws {
    #expect(try scene.serialq("run", "true").code == 0)
    #expect(try scene.serialq("add", "-t", "no-such-program").code == 0)
    #expect(try scene.serialq("wait", "2").code == 127)
    try scene.waitForNoRunner()
    #expect(try scene.log(2).text.contains("no-such-program: not found"))
    #expect(try FileSystem.names(in: scene.queueFolder().path + Bytes("/locks")).isEmpty)
  }

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

  // Fails if the keeper is one of the processes that are ended with the job, or holds them up.
  @Test("a canceled job with a terminal ends with all its processes, and its output is logged")
  func cancel() throws {
    let line = "trap 'echo caught; exit 1' TERM; echo begun; while :; do sleep 0.01; done"
    try scene.addRunning("-t", "-c", line, until: "begun")
    #expect(try scene.serialq("cancel", "1").code == 0)
    #expect(try scene.serialq("wait", "1").code != 0)
    #expect(try scene.states() == [.cancelled])
    // The shell may report the signal of its child.
    #expect(try scene.log(1).text.hasSuffix("caught\r\n"))
  }

  // Fails if what a job leaves behind holds up the queue, or keeps the keeper.
  @Test("what a job leaves behind on its terminal gets the hangup, and holds up nothing")
  func leftBehind() throws {
    let line = """
      (trap 'echo hangup >>rec; exit' HUP; echo ready >>rec; while :; do sleep 0.01; done) &
      while ! [ -s rec ]; do sleep 0.01; done; echo over
      """
    // Its shell may report the signal of a child.
    #expect(try log(of: line).hasPrefix("over\n"))
    try scene.waitForFile("rec", "hangup")
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
