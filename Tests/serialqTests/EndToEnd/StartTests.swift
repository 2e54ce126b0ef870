@testable import SerialqQueue
import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// `start` ensures that a runner is active where there is work, and ends no pause.
@Suite final class StartTests: SceneSuite {
  // Fails if only waiting jobs count as work: an orphan of a paused queue would have no runner.
  @Test("start supervises a job that lost its runner, also in a paused queue")
  func orphan() throws {
    try scene.add("read x <gate", "true")
    try scene.orphanJob()
    #expect(try scene.serialq("pause").code == 0)
    let started = try scene.serialq("start")
    #expect(started.code == 0 && started.errorText.contains("is paused"))
    _ = try scene.waitForRunner()
    try gate.open()
    try scene.waitForJob(1) { $0.state.isOver }
    #expect(try scene.states()[1] == .waiting)
  }

  // Fails if one of the messages claims what another case did, or the runner lock is ignored.
  @Test("start leaves an active runner alone, and says what it did on a terminal", .needs(.script))
  func messages() throws {
    try scene.add("read x <gate", "true")
    let line = "script -qec 'serialq start' /dev/null | tr -d '\\r'"
    let first = try scene.script(line)
    // The new runner may have started job 1, but the count is from before.
    #expect(first.text == "serialq: queue default has a new runner; 2 waiting\n")
    _ = try scene.waitForProcess(of: 1)
    let runner = try scene.waitForRunner()
    let second = try scene.script(line)
    #expect(try scene.waitForRunner() == runner)
    #expect(second.text == "serialq: queue default already has a runner; 1 waiting\n")
    try gate.open()
    try scene.waitForJob(2, .succeeded)
    let third = try scene.script(line)
    #expect(third.text == "serialq: queue default has no work: no runner is needed\n")
  }
}
