import Foundation
import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// `serialq --host` while connections are lost and signals arrive.
@Suite(.beside, .needs(.ssh, .sshd, .sshKeygen)) struct HostConnectionTests {
  // Fails if a call that is repeated adds its job again, or prints another id.
  @Test(
    "the jobs of every add with a key are there once, whenever its connection is cut",
    .shows(Elsewhere.addedOnce), arguments: [1, 2] as [UInt64])
  func adds(seed: UInt64) throws {
    let (scene, box) = try Scene.withBox()
    var generator = SeededGenerator(seed: seed)
    for number in 1...(isLong ? 200 : 6) {
      var outcome: Outcome
      repeat {
        let call = try scene.startHost("add", "--no-start", "--key", "\(number)", "true")
        // A moment between the start of ssh and the end of the call.
        usleep(.random(in: 0...300_000, using: &generator))
        if Bool.random(using: &generator) { try box.cut() } else { try call.killSSH() }
        outcome = try call.wait()
      } while outcome.code != 0
      #expect(outcome.text == "\(number)\n", "\(outcome.errorText)")
    }
    let keys = try scene.queue().jobs.compactMap { $0.key?.text }
    #expect(keys == (1...keys.count).map(String.init))
  }

  // Fails if the caller does not learn that it was cut, or the command there continues without a
  // caller.
  @Test("a lost connection is reported with 255, and ends the command there, not the job")
  func lost() throws {
    let (scene, box) = try Scene.withBox()
    let gate = try Gate(scene)
    try scene.add("read x <'\(scene.work.text)/gate'; exit 9")
    let wait = try scene.startHost("wait", "1")
    try scene.waitForCalls(1)
    try box.cut()
    let outcome = try wait.wait()
    #expect(outcome.code == 255)
    #expect(
      outcome.errorText.hasSuffix(
        """
        serialq: host box: ssh ended with exit code 255, as after a lost connection
        What was queued there stays. See: serialq --host box queues

        """), "\(outcome.errorText)")
    try scene.waitForCalls(0)
    try gate.open()
    #expect(try scene.call("wait", "1").code == 9)
  }

  // Fails if a signal ends only this side: the command there must end too, and `run` its job.
  @Test("a signal ends the command there as well", arguments: [SIGINT, SIGTERM, SIGHUP])
  func signals(signal: Int32) throws {
    let (scene, box) = try Scene.withBox()
    let gate = try Gate(scene)
    try scene.add("echo up; read x <'\(scene.work.text)/gate'")
    #expect(try scene.call("start").code == 0)
    let log = try scene.startHost("log", "-f", "1")
    try log.waitForOutput("up")
    log.send(signal)
    #expect(try log.wait().status == .killed(signal))
    let run = try scene.startHost("run", "-q", "b", "echo up; exec sleep 1000")
    try run.waitForOutput("up")
    run.send(signal)
    #expect(try run.wait().status == .killed(signal))
    try scene.waitForCalls(0)
    #expect(try scene.states("b") == [.interrupted])
    #expect(try scene.states() == [.running])
    withExtendedLifetime((box, gate)) {}
  }
}
