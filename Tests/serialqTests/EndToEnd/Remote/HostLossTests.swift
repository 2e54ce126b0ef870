import Foundation
import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// `--host` when the connection or one of its ends is lost.
@Suite(.needs(.ssh, .sshd, .sshKeygen))
struct HostLossTests {
  private static let lost = "serialq: host box: the connection was lost; connecting again\n"

  // Fails if an add whose answer is lost is not tried again, or adds its job twice.
  @Test(
    "each job is added once although connections are cut and their processes killed",
    arguments: [1, 2] as [UInt64])
  func adds(seed: UInt64) throws {
    let host = try HostScene()
    var generator = SeededGenerator(seed: seed)
    let count = isLong ? 200 : 15
    for number in 1...count {
      let program = try host.start("add", "--no-start", "echo \(number)")
      // Any moment of the call must do; this finds others on each machine.
      usleep(.random(in: 0...150_000, using: &generator))
      let kills = Bool.random(using: &generator)
      try host.box.cut()
      // Those of the call, which the caller then has to begin again.
      if kills { for pid in try host.box.processes() { kill(pid, SIGKILL) } }
      let outcome = try program.wait()
      #expect(outcome.code == 0 && outcome.text == "\(number)\n", "\(outcome.errorText)")
    }
    #expect(try host.scene.queue().jobs.map(\.title) == (1...count).map { "echo \($0)" })
  }

  // Fails if one of them ends with its connection, or output is lost or repeated.
  @Test("wait and log -f continue after the connection was lost, also when it stays away")
  func continuing() throws {
    let host = try HostScene()
    let gate = try Gate(host.scene)
    let line = "echo one; read x <'\(host.scene.path("gate").text)'; echo two; exit 3"
    #expect(try host.serialq("add", line).code == 0)
    let log = try host.startCall("log", "-f", "1")
    let wait = try host.startCall("wait", "--timeout", "1000")
    try log.waitForOutput("one")
    try host.box.cut()
    for program in [log, wait] { try program.waitForErrors(Self.lost) }
    // They continue on new connections, or later.
    try host.box.refuse()
    try host.box.cut()
    try gate.open()
    try host.scene.waitForJob(1, .failed)
    try host.box.accept()
    let (logged, waited) = (try log.wait(), try wait.wait())
    #expect(logged.text == "one\ntwo\n" && logged.code == 0, "\(logged.errorText)")
    #expect(waited.code == 1 && waited.errorText.contains("job 1 failed with exit code 3"))
    try host.waitForCalls("the end of the calls") { $0.isEmpty }
  }

  // Fails if a signal does not reach the command there, or has another effect than here.
  @Test("a signal has the effect that it has here", arguments: [SIGINT, SIGTERM, SIGHUP])
  func signals(signal: Int32) throws {
    let host = try HostScene()
    let here = try Scene()
    let gates = [try Gate(host.scene), try Gate(here)]
    defer { withExtendedLifetime(gates) {} }
    #expect(try host.serialq("add", "read x <'\(host.scene.path("gate").text)'").code == 0)
    #expect(try here.serialq("add", "echo begun; read x <gate").code == 0)
    let there = try host.startCall("log", "-f")
    let local = try here.start("log", "-f")
    try local.waitForOutput("begun")
    for program in [there, local] { program.send(signal) }
    let (outcome, expected) = (try there.wait(), try local.wait())
    #expect(outcome.status == expected.status, "\(outcome.errorText)")
    try host.waitForCalls("the end of the call") { $0.isEmpty }
    #expect(try host.scene.states() == [.running])
  }

  // Fails if commands there outlive their callers.
  @Test("the command there ends if the caller is killed")
  func killedCaller() throws {
    let host = try HostScene()
    let gate = try Gate(host.scene)
    defer { withExtendedLifetime(gate) {} }
    #expect(try host.serialq("add", "read x <'\(host.scene.path("gate").text)'").code == 0)
    let program = try host.startCall("wait")
    program.send(SIGKILL)
    _ = try program.wait()
    try host.waitForCalls("the end of the call") { $0.isEmpty }
    #expect(try host.scene.states() == [.running])
  }
}
