import SerialqQueue
@testable import SerialqSystem
import TestSupport
import Testing

/// Recovery after the runner is killed.
@Suite final class KilledRunnerTests: SceneSuite {
  // Fails if `started` is written after the spawn (a job runs twice), if recovery does not wait for
  // the lock of an orphan (two at once), or if it forgets a job.
  @Test(
    "a runner killed at any moment loses no job, starts none twice, and never runs two at once",
    .shows(Running.orphans), .needs(.flock))
  func killedAtAnyMoment() throws {
    var rounds = KillRounds(scene, 12, long: 50)
    let job = KillRounds.job("sleep 0.02 5>&-; echo end $id >>rec")
    for _ in 0..<rounds.count + 8 { #expect(try scene.serialq("add", "--no-start", job).code == 0) }
    var reported: [JobID] = []
    for _ in 0..<rounds.count {
      let runner = try scene.start("run")
      // From before the start until some jobs have ended.
      rounds.sleep(0...80_000)
      reported += interrupted(in: try runner.end(SIGKILL).errorText)
    }
    let last = try scene.serialq("run")
    let found = interrupted(in: last.errorText)
    #expect(last.code == (found.isEmpty ? 0 : 1))

    let jobs = try rounds.finish().jobs
    #expect(jobs.map(\.id) == Array(1...rounds.count + 8))
    #expect(jobs.allSatisfy { $0.state == .succeeded || $0.state == .interrupted })
    let lost = jobs.filter { $0.state == .interrupted }.map(\.id)
    // A runner can be killed after it recorded an interrupted job, and before it reported it.
    #expect(Set(reported + found).isSubset(of: lost))
    #expect(try scene.serialq("status").text.contains("interrupted") == !lost.isEmpty)
    // Only the runner is killed: every job that was started has ended.
    let starts = try rounds.record(canMissEnd: []).starts.map(\.job)
    let succeeded = jobs.filter { $0.state == .succeeded }.map(\.id)
    #expect(Set(succeeded).isSubset(of: starts))
  }

  // Fails if a started job without a process counts as waiting.
  @Test(
    "a job recorded as started and never spawned is interrupted, not run",
    .shows(OnDisk.startIsDurable))
  func startedAndNotSpawned() throws {
    try scene.add("echo first >>rec", "echo second >>rec")
    try scene.write(.start(1, at: Clock.reading()))
    let run = try scene.serialq("run")
    #expect(run.code == 1)
    #expect(interrupted(in: run.errorText) == [1])
    #expect(try content(scene.path("rec")).text == "second\n")
  }

  private func interrupted(in messages: String) -> [JobID] {
    var found: [JobID] = []
    for line in messages.split(separator: "\n") where line.contains(" was interrupted") {
      let word = line.split(separator: " ").dropFirst(2).first
      if let id = word.flatMap({ Int($0) }), found.last != id { found.append(id) }
    }
    return found
  }
}
