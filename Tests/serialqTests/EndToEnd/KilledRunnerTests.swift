import SerialqQueue
@testable import SerialqSystem
import TestSupport
import Testing

/// Recovery after the runner is killed.
@Suite struct KilledRunnerTests {
  /// Every job records its start and end, in one write each.
  private static let job =
    "echo start $SERIALQ_JOB >>rec; sleep 0.02; echo end $SERIALQ_JOB >>rec"

  // Fails if `started` is written after the spawn (a job runs twice), if recovery does not wait for
  // the lock of an orphan (two at once), or if it forgets a job.
  @Test(
    "a runner killed at any moment loses no job, starts none twice, and never runs two at once",
    .shows(Running.orphans))
  func killedAtAnyMoment() throws {
    let kills = isLong ? 50 : 12
    let count = kills + 8
    let scene = try Scene()
    tally(kills)
    for _ in 0..<count { try scene.add(Self.job) }
    var random = SeededGenerator(seed: 20_240_229)
    var reported: [JobID] = []
    for _ in 0..<kills {
      let runner = try scene.start("run")
      // The moment is under test: from before the start until some jobs have ended.
      usleep(.random(in: 0...80_000, using: &random))
      runner.send(SIGKILL)
      reported += interrupted(in: try runner.wait().errorText)
    }
    let last = try scene.serialq("run")
    reported += interrupted(in: last.errorText)

    let jobs = try scene.queue().jobs
    #expect(jobs.map(\.id) == Array(1...count))
    #expect(jobs.allSatisfy { $0.state == .succeeded || $0.state == .interrupted })
    let lost = jobs.filter { $0.state == .interrupted }.map(\.id)
    // A runner can be killed after it recorded an interrupted job, and before it reported it.
    #expect(Set(reported).isSubset(of: lost))
    #expect(last.code == (interrupted(in: last.errorText).isEmpty ? 0 : 1))
    #expect(try scene.serialq("status").text.contains("interrupted") == !lost.isEmpty)

    let record = try content(scene.path("rec")).text.split(separator: "\n").map(String.init)
    let started = record.filter { $0.hasPrefix("start") }.compactMap { Int($0.dropFirst(6)) }
    #expect(started == started.sorted() && Set(started).count == started.count)
    let succeeded = jobs.filter { $0.state == .succeeded }.map(\.id)
    #expect(Set(succeeded).isSubset(of: started))
    // Each job's end directly follows its own start: only the runner is killed.
    #expect(record == started.flatMap { ["start \($0)", "end \($0)"] })
  }

  // Fails if recovery marks a job as interrupted and does not report it.
  @Test("the next run reports the interrupted job once, and exits with 1")
  func reported() throws {
    let scene = try Scene()
    let gate = try Gate(scene)
    try scene.add("echo begun; read x <gate", "echo next")
    let runner = try scene.start("run")
    try runner.waitForOutput("begun")
    runner.send(SIGKILL)
    #expect(try runner.wait().code == 128 + SIGKILL)
    try gate.open()
    let next = try scene.serialq("run")
    #expect(next.text == "begun\nnext\n")
    #expect(interrupted(in: next.errorText) == [1])
    #expect(next.errorText.components(separatedBy: "interrupted").count == 2, "\(next.errorText)")
    #expect(next.code == 1)
    #expect(try scene.states() == [.interrupted, .succeeded])
    let after = try scene.serialq("run")
    #expect(after.code == 0 && after.errorText == "" && after.text == "")
  }

  // Fails if a started job without a process counts as waiting.
  @Test(
    "a job recorded as started and never spawned is interrupted, not run",
    .shows(OnDisk.startIsDurable))
  func startedAndNotSpawned() throws {
    let scene = try Scene()
    try scene.add("echo first >>rec", "echo second >>rec")
    let started = Event.started(id: 1, attempt: 1, at: Clock.now(), boot: Machine.boot())
    try Journal(scene.queueFolder()).append([started])
    let run = try scene.serialq("run")
    #expect(run.code == 1)
    #expect(interrupted(in: run.errorText) == [1])
    #expect(try content(scene.path("rec")).text == "second\n")
  }

  // Fails if `status` does not check the lock, and reports a dead job as running.
  @Test("status reports that the job died with its runner")
  func bothDead() throws {
    let scene = try Scene()
    let gate = try Gate(scene)
    try scene.add("read x <gate")
    try scene.orphanJob()
    try scene.killJob(1)
    let status = try scene.serialq()
    #expect(status.text.contains("its runner and the job died"))
    #expect(status.text.contains("Run them here:  serialq run\n"))
    #expect(try scene.serialq("run").code == 1)
    withExtendedLifetime(gate) {}
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
