@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// The next job waits for one that runs on a node, whatever is lost.
@Suite(.beside, .needsSlurm, .needsRoot)
final class SlurmLossTests: FarSuite<SlurmQueue> {
  private let first = SlurmQueue.first
  private let second = SlurmQueue.second

  init() throws { try super.init(SlurmQueue()) }

  // Fails if job 2 runs while job 1 still does, or Slurm keeps an allocation that has no srun.
  @Test(
    "a job whose launcher was killed delays the next one, also without its srun",
    .shows(Elsewhere.fence), arguments: [false, true])
  func launcherKilled(isClientKilled: Bool) throws {
    try queue.checkKilledLauncher(gate) {
      if isClientKilled { try queue.cluster.killClients(of: scene) }
    }
  }

  // Fails if the job counts as a success, or its launcher waits for its own end. Without an answer
  // to a killed reader it would do so all the time: repeat `wait` while the status is above 128.
  @Test(
    "a job on a node whose launcher loses a process is ended, and interrupted",
    .needs(.bash, .busybox), arguments: ["", "bash ", "busybox sh "])
  func readerKilled(shell: String) throws {
    try queue.setLauncher("\(shell)\(scene.programs.text)/serialq-slurm")
    try queue.checkKilledReader()
  }

  // Fails if the job that got a part of its input counts as a success.
  @Test("a job on a node whose input is cut off by a kill is interrupted")
  func senderKilled() throws { try queue.checkKilledSender(gate) }

  // Fails if job 3 runs while job 2 does, because a crash of the machine restored an old file.
  @Test("a note of before the machine started does not replace the wait for an earlier job")
  func oldNote() throws {
    try queue.add("true", first)
    try scene.waitForLog(2, "begun\n")
    #expect(kill(try scene.waitForProcess(of: 2), SIGKILL) == 0)
    try scene.waitForJob(2, .interrupted)
    let note = try scene.queueFolder().locks.appending(path: Bytes("slurm"))
    #expect(try content(note).text == "started\n")
    let programs = scene.programs.text
    let old = "00000000-0000-0000-0000-000000000000 \(programs)/srun  \n"
    try write(Bytes(old.utf8), to: note)
    try queue.add(second)
    try scene.waitForLog(3, "serialq-slurm: waiting for ")
    try gate.open()
    #expect(try scene.serialq("wait", "3").code == 0)
    try queue.expectRecord("first\nsecond\n")
    // Without the fence the next job would be as fast as this note allows.
    #expect(try content(note).text.hasSuffix(old.drop { $0 != " " }))
  }

  // Fails if the launcher ends with the runner, or its result is not used.
  @Test(
    "the result of a job on a node is recorded by the next runner", .shows(Elsewhere.outlives))
  func runnerKilled() throws { try queue.checkKilledRunner(gate) }

  // Fails if a job without launcher and runner is forgotten, or succeeds by mistake.
  @Test("a job whose runner and launcher were killed runs once, and the next one after it")
  func bothKilled() throws {
    try queue.addRunning(first, second)
    let launcher = try scene.waitForProcess(of: 1)
    try scene.killRunner()
    #expect(kill(launcher, SIGKILL) == 0)
    let next = try scene.start("run").waitForErrors("waiting for it to end")
    try gate.open()
    #expect(try next.wait().code <= 1)
    try queue.expectRecord("first\nsecond\n")
    let states = try scene.states()
    // What the launcher started can still report.
    #expect([.succeeded, .interrupted].contains(states[0]) && states[1] == .succeeded)
    try queue.expectNothingLeft()
  }

  // Fails if a job that was ended counts as a success because it could clean up.
  @Test("a job that was canceled in Slurm is interrupted, also if it then exits with 0")
  func canceledInSlurm() throws {
    try queue.addRunning("trap 'exit 0' TERM; echo begun; while :; do sleep 0.1; done")
    let job = try #require(try scene.listed()[0]["launcher"] as? [String: Any])["job"] as? String
    #expect(try scene.script("scancel \(try #require(job))").code == 0)
    try queue.add(second)
    #expect(try scene.serialq("wait", "2").code == 0)
    #expect(try scene.states() == [.interrupted, .succeeded])
    let show = try scene.serialq("show", "1").text
    #expect(show.contains("Slurm ended the job: CANCELLED"), "\(show)")
    try queue.expectNothingLeft()
  }

  // Fails if srun receives the signal, the job is killed at once, or the next one starts early.
  @Test(
    "SIGTERM reaches a job on a node, and the next one starts after its end",
    .shows(Elsewhere.alone),
    arguments: [["cancel", "1"], ["cancel", "1", "--signal", "KILL"], []])
  func cancel(words: [String]) throws { try queue.checkCancel(words) }

  // Fails if a job that ignores SIGTERM, or a process of it in another session, is left running.
  @Test("a canceled job that ignores SIGTERM is killed on its node", .needs(.setsid))
  func stubborn() throws { try queue.checkStubborn(gate) }

  // Fails if other signals end the job, or are lost.
  @Test("cancel --signal INT sends SIGINT to a job on a node")
  func interrupt() throws { try queue.checkInterrupt() }

  // Fails if a job that Slurm has not started cannot be canceled, or runs later nevertheless.
  @Test("a job that waits for a node is canceled at once, and never runs")
  func pending() throws {
    try queue.setLauncher("serialq-slurm --begin now+1hour")
    try queue.add("echo first >>rec")
    try scene.waitForLog(1, "queued and waiting for resources")
    #expect(try scene.serialq("cancel", "1").code == 0)
    try scene.waitForJob(1, .cancelled)
    try queue.expectNothingLeft()
    try queue.setLauncher("serialq-slurm")
    try queue.add(second)
    #expect(try scene.serialq("wait", "2").code == 0)
    try queue.expectRecord("second\n")
  }

  // Fails if a job that waits for an earlier one cannot be canceled, or runs later nevertheless.
  @Test("a job that waits for an earlier one in Slurm is canceled at once, and never runs")
  func cancelAtFence() throws { try queue.checkCancelWhileWaiting(gate) }
}

/// The next job waits for one that runs on a node, whatever daemon is lost.
@Suite(.beside, .needsSlurm, .needsRoot)
final class SlurmDaemonLossTests: FarSuite<SlurmQueue> {
  private let first = SlurmQueue.first
  private let second = SlurmQueue.second

  init() throws { try super.init(SlurmQueue(hasOwnCluster: true)) }

  // Fails if the exit code of srun, 0, is the result of a job whose node has failed.
  @Test("a job whose node fails is interrupted, and the next one runs on another node")
  func nodeKilled() throws {
    try queue.addRunning(first)
    let node = try #require(try scene.listed()[0]["launcher"] as? [String: Any])["node"] as? String
    try queue.cluster.killNode(try #require(node))
    try scene.waitForJob(1) { $0.state.isOver }
    #expect(try scene.states() == [.interrupted])
    #expect(try scene.serialq("show", "1").text.contains("NODE_FAIL"))
    try queue.add(second)
    #expect(try scene.serialq("wait", "2").code == 0)
    try queue.expectRecord("second\n")
    try queue.expectNothingLeft()
  }

  // Fails if a job counts as succeeded without its node's word, or the next one starts before its
  // end.
  @Test("a job whose controller is killed ends once or is interrupted", arguments: [false, true])
  func controllerKilled(isSaved: Bool) throws {
    try queue.addRunning(first)
    if isSaved { try queue.cluster.waitForSavedJob() }
    try queue.cluster.killController()
    try queue.add(second)
    try queue.cluster.startController()
    // If the controller has lost its state, it kills the task when its node registers.
    try gate.open()
    #expect(try scene.serialq("wait", "2").code == 0)
    let record = try content(scene.path("rec")).text
    let state = try scene.states()[0]
    if record == "first\nsecond\n" {
      #expect([.succeeded, .interrupted, .killed].contains(state))
    } else {
      #expect(record == "second\n" && !isSaved && [.interrupted, .killed].contains(state))
    }
    try queue.expectNothingLeft()
  }

  // Fails if a queue loses its jobs because the controller is down.
  @Test("a job waits for a controller that is down")
  func controllerDown() throws {
    try queue.cluster.killController()
    try queue.add(second)
    try scene.waitForLog(1, "serialq-slurm: waiting for Slurm: slurm_load_jobs error")
    try queue.cluster.startController()
    #expect(try scene.serialq("wait", "1").code == 0)
    try queue.expectRecord("second\n")
  }
}
