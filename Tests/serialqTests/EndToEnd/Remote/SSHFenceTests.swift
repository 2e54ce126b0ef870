@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// What happens when a part of the way to a job on another machine ends.
@Suite(.beside, .needs(.ssh, .sshd, .sshKeygen, .flock, .perl))
final class SSHFenceTests: FarSuite<SSHQueue> {
  /// Prints at its end, also if its connection is gone.
  private let first = "echo begun; read x <gate; echo over; echo first >>rec"

  init() throws { try super.init(SSHQueue()) }

  /// The ways to lose a connection.
  enum Loss: CaseIterable { case session, client, answers }

  // Fails if a lost connection is a failure of the job, ends it with SIGPIPE, or job 2 runs while
  // job 1 still does.
  @Test(
    "a job whose connection breaks is interrupted, and delays the next one until it has ended",
    .shows(Elsewhere.fence), arguments: Loss.allCases)
  func cut(loss: Loss) throws {
    let alive = ["ServerAliveInterval 2", "ServerAliveCountMax 2"]
    if loss == .answers { try queue.box.configure(alive[0], alive[1]) }
    try queue.addRunning(first)
    switch loss {
    case .session: try queue.box.cut()
    case .client: #expect(try scene.launcherChild(named: "ssh")?.send(SIGKILL) == 0)
    case .answers: try queue.box.freeze()
    }
    try scene.waitForJob(1, .interrupted)
    #expect(try scene.log(1).text.contains("the connection ended"))
    try queue.add(SSHQueue.second)
    try queue.expectSecondWaits(gate)
  }

  // Fails if the lock is held by the launcher, or by its connection.
  @Test("a job whose launcher was killed delays the next one", .shows(Elsewhere.fence))
  func launcherKilled() throws { try queue.checkKilledLauncher(gate) }

  // Fails if the lock is released with the process there that waits for the job.
  @Test("a job whose supervisor on the other machine was killed delays the next one")
  func supervisorKilled() throws {
    try queue.add("kill -9 $PPID; \(first)", SSHQueue.second)
    try queue.expectSecondWaits(gate)
    #expect(try scene.log(1).text.contains("its supervisor on "))
  }

  // Fails if the job counts as a success, or its launcher waits for its own end. Without an answer
  // to a killed reader it would do so all the time: repeat `wait` while the status is above 128.
  @Test(
    "a job whose launcher loses a process is ended there, and interrupted", .needs(.bash, .busybox),
    arguments: ["", "bash ", "busybox sh "])
  func readerKilled(shell: String) throws {
    try queue.setLauncher("\(shell)\(scene.programs.text)/serialq-ssh box")
    try queue.checkKilledReader()
  }

  // Fails if the job that got a part of its input counts as a success.
  @Test("a job elsewhere whose input is cut off by a kill is interrupted")
  func senderKilled() throws { try queue.checkKilledSender(gate) }

  // Fails if the end of the process there that copies the output is not checked.
  @Test("a job elsewhere whose output is cut off by a kill is interrupted")
  func relayKilled() throws {
    let kill = "read -r id name state parent rest <$p/stat && [ $parent = $PPID ] && [ $id != $$ ]"
    try queue.add("for p in /proc/[0-9]*; do \(kill) && kill -9 $id; done; exit 0", SSHQueue.second)
    #expect(try scene.serialq("wait", "2").code == 0)
    #expect(try scene.states() == [.interrupted, .succeeded])
    #expect(try scene.log(1).text.contains("the copy of its output was killed"))
  }

  // Fails if the launcher ends with the runner, or its result is not used.
  @Test(
    "the result of a job elsewhere is recorded by the next runner", .shows(Elsewhere.outlives),
    arguments: [false, true])
  func runnerKilled(isLauncherKilled: Bool) throws {
    try queue.checkKilledRunner(gate, isLauncherKilled: isLauncherKilled)
  }

  // Fails if only the connection is ended, the job is killed at once, or the next one starts early.
  @Test(
    "SIGTERM reaches a job on another machine, and the next one starts after its end",
    arguments: [["cancel", "1"], ["cancel", "1", "--signal", "KILL"], []])
  func cancel(words: [String]) throws { try queue.checkCancel(words) }

  // Fails if a job that ignores SIGTERM, or a process of it in another session, is left running.
  @Test("a canceled job that ignores SIGTERM is killed on the other machine", .needs(.setsid))
  func stubborn() throws { try queue.checkStubborn(gate) }

  // Fails if other signals end the job, or are lost.
  @Test("cancel --signal INT sends SIGINT to a job on another machine")
  func interrupt() throws { try queue.checkInterrupt() }

  // Fails if the next job waits for a process that a job has left behind, or that is ended.
  @Test("what a job leaves behind on another machine continues, and delays no other job")
  func leftover() throws {
    let process = "while [ ! -e stop ]; do echo noise; sleep 0.01; done && echo left >>rec"
    try queue.add("{ \(process); } & exit 3")
    try queue.add("echo second >>rec")
    #expect(try scene.serialq("wait", "2").code == 0)
    try queue.expectRecord("second\n")
    #expect(try scene.states() == [.failed, .succeeded])
    try write([], to: scene.path("stop"))
    try scene.waitForFile("rec", "left\n")
  }

  // Fails if a job that waits at the fence cannot be canceled, or runs later nevertheless.
  @Test("a job that waits for another machine is canceled at once, and never runs")
  func cancelAtFence() throws { try queue.checkCancelWhileWaiting(gate) }

  // Fails if the fence is that of all queues.
  @Test("a job on another machine does not delay those of other queues there")
  func otherQueue() throws {
    try queue.checkOtherQueue("other", launcher: "serialq-ssh box", gate)
  }

  // Fails if the order is that of the connections, or a kept connection breaks a guarantee.
  @Test("jobs over a kept connection run in the order of the queue, also after move")
  func order() throws {
    try queue.box.configure("ControlMaster auto", "ControlPersist 60", "ControlPath ~/%C")
    let count = isLong ? 50 : 8
    let lines = (1...count).map { "echo \($0) >>rec" }
    #expect(
      try scene.serialq("add", "--no-start", "-f", "-") {
        $0.input = Bytes(lines.map { "\($0)\n" }.joined().utf8)
      }.code == 0)
    #expect(try scene.serialq("move", "\(count)", "--first").code == 0)
    #expect(try scene.serialq("start").code == 0)
    // Each has its own time: together they can take longer than a program of the scene may.
    for id in 1...count { try scene.waitForJob(id) { $0.state.isOver } }
    #expect(try scene.serialq("wait").code == 0)
    try queue.expectRecord(([count] + Array(1..<count)).map { "\($0)\n" }.joined())
  }
}
