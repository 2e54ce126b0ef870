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

  // Fails if it runs after each job, counts jobs of an earlier time, or an attempt that is retried.
  @Test("it runs once when no job is left, with the results since the last time")
  func counts() throws {
    #expect(try scene.serialq("run", "exit 9").code == 9)
    try set(Self.record)
    // Nothing ran since it was set.
    #expect(try scene.serialq("run").code == 0)
    #expect(try recorded() == [])
    try scene.add("true", "true", "exit 3", "kill -9 $$", "true")
    #expect(try scene.serialq("add", "--no-start", "--if-ok", "false").code == 0)
    let retried = ["add", "--no-start", "--retries", "2", "echo x >>rec; [ $(wc -l <rec) -ge 2 ]"]
    #expect(try scene.serialq(retried).code == 0)
    #expect(try scene.serialq("move", "7", "--after", "5").code == 0)
    #expect(try scene.serialq("cancel", "6").code == 0)
    #expect(try scene.serialq("run").code == 1)
    #expect(try recorded() == ["default 3 2 1 1 4"])
    // The jobs before are not counted again, and open ones stay open.
    #expect(try scene.serialq("run", "true").code == 0)
    #expect(try recorded().dropFirst() == ["default 1 0 0 0 4"])
    #expect(try scene.serialq("run").code == 0)
    #expect(try recorded().count == 2)
  }

  // Fails if a paused queue with waiting jobs counts as idle, or one whose jobs were all canceled
  // before they ran.
  @Test("it does not run while jobs wait in a paused queue, or if no job ran")
  func notIdle() throws {
    try set(Self.record)
    try scene.add("serialq pause", "true")
    #expect(try scene.serialq("run").code == 125)
    #expect(try recorded() == [])
    #expect(try scene.serialq("cancel", "2").code == 0)
    // Now no job waits; the next runner finds that, and the counts include both.
    #expect(try scene.serialq("start").code == 0)
    try scene.waitForFile("idle", "\n")
    #expect(try recorded() == ["default 1 0 0 1 0"])
    try scene.waitForNoRunner()
    #expect(try scene.serialq("resume").code == 0)
    try scene.add("true")
    #expect(try scene.serialq("cancel", "3").code == 0)
    #expect(try scene.serialq("run").code == 0)
    #expect(try recorded().count == 1)
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

  // Fails if it runs under the lock of the journal, if the runner ends without the jobs that it
  // adds, or if it runs again without a job.
  @Test("it may add jobs, which run, and after which it runs again")
  func adds() throws {
    try set("\(Self.record); [ $(wc -l <idle) -ge 3 ] || serialq add 'echo more'")
    let run = try scene.serialq("run", "echo first")
    #expect(run.code == 0 && run.text == "first\nmore\nmore\n", "\(run.errorText)")
    #expect(try recorded() == Array(repeating: "default 1 0 0 0 0", count: 3))
    #expect(try scene.states() == [.succeeded, .succeeded, .succeeded])
    // In the background too.
    #expect(try scene.serialq("add", "echo last").code == 0)
    try waitUntil("a fourth line", watching: [scene.work]) { try recorded().count == 4 }
    #expect(try scene.serialq("wait").code == 0)
  }

  // Fails if a job that is added while the command runs waits for another runner.
  @Test("a job that is added while it runs is run by the same runner")
  func addedMeanwhile() throws {
    try set("\(Self.record); read x <gate")
    let run = try scene.start("run", "echo one")
    try scene.waitForFile("idle", "\n")
    #expect(try scene.serialq("add", "echo two").code == 0)
    // Does not wait for the command.
    #expect(try scene.serialq("wait", "1").code == 0)
    try gate.open()
    try gate.open()
    #expect(try run.wait().text == "one\ntwo\n")
    #expect(try recorded().count == 2)
  }

  // Fails if the failure is only in its log, stays after a success, or is lost by compaction.
  @Test("its failure is reported by status until it runs again, with its output")
  func failure() throws {
    try set("echo no such host; [ $SERIALQ_SUCCEEDED = 2 ] || exit 4")
    #expect(try scene.serialq("run", "true").code == 0)
    #expect(try scene.serialq("clean").code == 0)
    let status = try scene.serialq("run", "--", "true")
    #expect(status.code == 0)
    let log = try scene.queueFolder().idleHookLog
    let reported = try scene.serialq().text
    #expect(reported.contains("The on-idle command failed with exit code 4.\n"), "\(reported)")
    #expect(reported.contains("\nOutput of on-idle:  cat \(log.text)\n"), "\(reported)")
    #expect(try content(log) == Bytes("no such host\n"))
    let json =
      try JSONSerialization.jsonObject(
        with: Data(scene.serialq("status", "--json").output)) as? [String: Any]
    let failure = try #require(json?["onIdleFailure"] as? [String: Any])
    #expect(failure["exitCode"] as? Int == 4 && failure["signal"] is NSNull)
    try scene.add("true", "true")
    #expect(try scene.serialq("run").code == 0)
    #expect(try !scene.serialq().text.contains("on-idle"))
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
