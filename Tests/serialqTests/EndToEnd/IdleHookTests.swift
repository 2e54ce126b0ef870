import Foundation
import SerialqSystem
import Testing

/// The on-idle command: when it runs, and what it receives.
@Suite final class IdleHookTests: SceneSuite {
  /// Records the counts in one line.
  private static let record = """
    echo $SERIALQ_QUEUE $SERIALQ_SUCCEEDED $SERIALQ_FAILED $SERIALQ_SKIPPED $SERIALQ_CANCELLED \
    $SERIALQ_OPEN "$SERIALQ_JOB" >>idle
    """

  private func set(_ line: String) throws {
    #expect(try scene.serialq("set", "on-idle", line).code == 0)
  }

  private func recorded() throws -> [String] {
    let text =
      try FileDescriptor.openIfThere(
        scene.path("idle"), .read, followingLinks: true)?.readAll().text ?? ""
    return text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
  }

  // Fails if it is not recorded before its start, or never run after the death of the runner.
  @Test("after the death of the runner, the next one runs it, but not twice")
  func killed() throws {
    try set("\(Self.record); read x <gate")
    try scene.add("echo begun; read x <gate; exit 2")
    try scene.orphanJob(printing: "begun")
    try gate.open()
    let run = try scene.start("run")
    try scene.waitForFile("idle", "\n")
    #expect(try recorded() == ["default 0 1 0 0 1"])
    // During the command.
    _ = try run.end(SIGKILL)
    #expect(try scene.serialq("run").code == 0)
    #expect(try recorded().count == 1)
    try gate.open()
    try gate.open()
    #expect(try scene.serialq("run", "true").code == 0)
    #expect(try recorded().dropFirst() == ["default 1 0 0 0 1"])
  }

  // Fails if a stop waits for the command, or loses it.
  @Test("a runner that is stopped does not run it; the next one does")
  func stopped() throws {
    try set(Self.record)
    let run = try scene.start("run", "echo up; exec sleep 1000").waitForOutput("up")
    #expect(try run.end(SIGINT).code == 128 + SIGINT)
    #expect(try recorded() == [])
    #expect(try scene.serialq("run").code == 0)
    #expect(try recorded() == ["default 0 0 0 1 0"])
  }
}
