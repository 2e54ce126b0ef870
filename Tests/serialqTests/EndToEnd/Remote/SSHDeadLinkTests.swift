import SerialqSystem
import TestSupport
import Testing

/// A network of its own, whose only link can be down.
private final class SeparateNetwork {
  private let scene: Scene
  /// Keeps the network while no other process is in it.
  private let holder: LaunchedProgram
  private let gate: Gate

  init(_ scene: Scene) throws {
    self.scene = scene
    gate = try Gate(scene, "network-gate")
    let script = "ip link set lo up && echo up && read x <network-gate"
    holder = try scene.launch(
      ["/usr/bin/env", "unshare", "--net", "/bin/sh", "-c", script].map { Bytes($0.utf8) })
    try holder.waitForOutput("up")
  }

  /// The words before those of a program that starts in the network.
  var entry: [Bytes] {
    ["/usr/bin/env", "nsenter", "--net=/proc/\(holder.pid)/ns/net"].map { Bytes($0.utf8) }
  }

  func setLink(_ state: String) throws {
    let words = ["/usr/bin/env", "ip", "link", "set", "lo", state].map { Bytes($0.utf8) }
    try #require(try scene.launch(entry + words).wait().code == 0)
  }
}

/// A job on another machine, and a link that carries nothing without being closed.
@Suite(.beside, .needs(.ssh, .sshd, .sshKeygen, .flock, .perl, .unshare, .nsenter, .ip), .needsRoot)
final class SSHDeadLinkTests: SceneSuite {
  // Fails if a job is given up when its link comes back, or its end is lost that the link delayed.
  @Test("a job that ends while its link is down for a moment is recorded as it ended")
  func brief() throws {
    let network = try SeparateNetwork(scene)
    let queue = try SSHQueue(scene, SSHServer(scene, prefix: network.entry))
    try scene.add("echo begun; read x <gate; echo over; echo first >>rec; exit 3")
    let run = try scene.launch(
      network.entry + [scene.programs.appending(path: Bytes("serialq")), Bytes("run")])
    try run.waitForOutput("begun")
    try network.setLink("down")
    try gate.open()
    try scene.waitForFile("rec", "first\n")
    try network.setLink("up")
    #expect(try run.wait().code == 1)
    #expect(try scene.queue().job(1)?.ending == .exited(3))
    #expect(try scene.log(1).text == "begun\nover\n")
    try queue.expectRecord("first\n")
  }

  // Fails if only a closed connection ends the launcher, or job 2 runs while job 1 still does.
  @Test(
    "a job behind a link that is down is interrupted, and delays the next one until it has ended",
    .shows(Elsewhere.fence))
  func dead() throws {
    let network = try SeparateNetwork(scene)
    let queue = try SSHQueue(scene, SSHServer(scene, prefix: network.entry))
    try queue.box.configure("ServerAliveInterval 2", "ServerAliveCountMax 2", "ConnectTimeout 2")
    let run = network.entry + [scene.programs.appending(path: Bytes("serialq")), Bytes("run")]

    try scene.add("echo begun; read x <gate; echo first >>rec")
    let first = try scene.launch(run).waitForOutput("begun")
    try network.setLink("down")
    #expect(try first.wait().code == 1)
    #expect(try scene.states() == [.interrupted])
    #expect(try scene.log(1).text.contains("the connection ended: Timeout, server "))

    try scene.add("echo not started >>rec")
    #expect(try scene.launch(run).wait().code == 1)
    #expect(try scene.queue().job(2)?.exitCode == 126)

    try network.setLink("up")
    try scene.add("echo third >>rec")
    let last = try scene.launch(run)
    try scene.waitForLog(3, "waiting for the end of job 1/1, process ")
    try gate.open()
    #expect(try last.wait().code == 0)
    try queue.expectRecord("first\nthird\n")
    #expect(try scene.states() == [.interrupted, .failed, .succeeded])
  }
}
