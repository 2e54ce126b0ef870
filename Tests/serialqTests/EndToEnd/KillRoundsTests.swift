import Dispatch
import Foundation
import SerialqQueue
import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// Kills every kind of process repeatedly, while four processes add jobs and one waits.
@Suite struct KillRoundsTests {
  /// The number of kills; SERIALQ_KILLS sets it.
  private static let rounds: Int =
    ProcessInfo.processInfo.environment["SERIALQ_KILLS"].flatMap { Int($0) }
    ?? (isLong ? 200 : 15)

  /// Records its start and end, in one write each, and takes an exclusive lock in between: an
  /// overlap would be recorded.
  private static let job = """
    mkdir busy || echo overlap $SERIALQ_JOB >>rec
    echo start $SERIALQ_JOB >>rec; sleep 0.01; echo end $SERIALQ_JOB >>rec; rmdir busy
    """

  /// The same job in a session of its own, and in a process group of its own.
  private static let jobs = [job, "setsid -w sh -c '\(job)'", "timeout 100 sh -c '\(job)'", job]

  /// The settings, of which on-idle records the number of jobs that it receives.
  private static let hooks = [
    ["on-finish", "echo $SERIALQ_JOB >>finished"],
    ["on-idle", "echo $((SERIALQ_SUCCEEDED + SERIALQ_FAILED + SERIALQ_SKIPPED)) >>idle"],
  ]

  /// Each successful call appends the printed id to `ids`, no faster than the jobs run.
  ///
  /// Every other job requires the one before it of the same adder.
  ///
  /// Ends with the test, also if the test is killed.
  private static let adder = """
    while [ ! -e stop ] && kill -0 $PPID; do
      if [ -n "$id" ] && [ -z "$after" ]; then after=--after=$id; else after=; fi
      id=$(serialq add $after "$JOB") && echo $id >>ids; sleep 0.1
    done
    """

  /// Waits; then prints the exit code, and the present journal lines of the jobs it waited for.
  ///
  /// Waits again if the running job was suspended.
  private static let witness = """
    while serialq wait "$@"; code=$?; [ $code = 125 ]; do sleep 0.05; done; echo $code; grep -aE "$PATTERN" "$SERIALQ_DIR/default/journal"
    """

  // Fails if `started` is written after the spawn, an orphan is not waited for, a wake-up is lost,
  // or a `wait` ends before the jobs have, or with another code than theirs.
  @Test(
    "whichever process is killed, no job is lost, runs twice unreported, or overlaps another",
    .shows(Running.orphans, Running.order, Running.suspends), .needs(.setsid))
  func rounds() throws {
    let scene = try Scene()
    for words in Self.hooks {
      #expect(try scene.serialq((["set"] + words).map { Bytes($0.utf8) }).code == 0)
    }
    let add = { (index: Int) throws -> LaunchedProgram in
      try scene.launch([Bytes("/bin/sh"), Bytes("-c"), Bytes(Self.adder.utf8)]) {
        $0.environment.append(Bytes("JOB=\(Self.jobs[index])".utf8))
      }
    }
    var adders = try (0..<4).map(add)
    try scene.waitForFile("ids", "1\n")
    var random = SeededGenerator(seed: 20_261_121)
    var killedJobs: Set<JobID> = []
    var witnesses: [Witness] = []
    tally(Self.rounds)
    for round in 0..<Self.rounds {
      witnesses.append(try witness(of: round, scene))
      let waiter = try scene.start("wait")
      // The random moment is under test.
      usleep(.random(in: 0...60_000, using: &random))
      switch round % 4 {
      case 0: if let pid = try scene.runner() { kill(pid, SIGKILL) }
      case 1: if let id = try killJob(scene) { killedJobs.insert(id) }
      case 2:
        let index = Int.random(in: 0..<4, using: &random)
        // The whole group: the shell, and the `serialq add` that it waits for.
        kill(-adders[index].pid, SIGKILL)
        _ = try adders[index].wait()
        adders[index] = try add(index)
      case 3 where round % 8 == 3: if let id = try cancelJob(scene) { killedJobs.insert(id) }
      case 3:
        #expect(try scene.serialq("pause", "--now").code == 0)
        // The runner dies at times while the job is suspended.
        if Bool.random(using: &random), let pid = try scene.runner() { kill(pid, SIGKILL) }
        #expect(try scene.serialq("resume").code == 0)
      default: break
      }
      waiter.send(SIGKILL)
      _ = try waiter.wait()
    }
    try write([], to: scene.path("stop"))
    for adder in adders { _ = try adder.wait() }
    for witness in witnesses { try check(witness) }
    let last = try scene.serialq("wait")
    try check(scene, last, killedJobs)
    try checkHooks(scene)
  }

  // MARK: Every wait returns the correct code

  /// A `wait` that is not killed.
  private struct Witness {
    let process: LaunchedProgram
    /// The jobs that it waits for; nil for the whole queue.
    let ids: ClosedRange<JobID>?
    /// The queue before it was started.
    let before: Queue
  }

  /// Waits for the latest job, for the latest three, and occasionally for the whole queue: that one
  /// ends with the test, because there is nearly always a waiting job.
  private func witness(of round: Int, _ scene: Scene) throws -> Witness {
    let isOfAll = round % max(5, Self.rounds / 10) == 0
    let before = isOfAll ? try scene.queue() : Queue()
    // Only the end: parsing all of it would take longer than the rounds.
    let ids = try content(scene.path("ids")).suffix(20)
    let last = try #require(ids.split(separator: UInt8(ascii: "\n")).last)
    let id = try #require(JobID(Bytes(last).text))
    let named = isOfAll ? nil : (round % 2 == 0 ? id : max(1, id - 2))...id
    let pattern = named.map { ids in
      "\"id\":(\(ids.map { "\($0)" }.joined(separator: "|"))),"
    }
    let words = [Bytes("/bin/sh"), Bytes("-c"), Bytes(Self.witness.utf8), Bytes("sh")]
    let process = try scene.launch(words + (named.map { [Bytes($0.text.utf8)] } ?? [])) {
      $0.environment.append(Bytes("PATTERN=\(pattern ?? "^")".utf8))
    }
    return Witness(process: process, ids: named, before: before)
  }

  private func check(_ witness: Witness) throws {
    let outcome = try witness.process.wait()
    let parts = outcome.output.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
    let code = try #require(parts.first.flatMap { Int32(Bytes($0).text) }, "\(outcome.errorText)")
    let queue = try Replayed(Bytes(parts.dropFirst().joined())).queue
    guard let ids = witness.ids else {
      // Failures are never acknowledged here, so their number only grows.
      #expect(code == 0 ? witness.before.openCount == 0 : queue.openCount > 0)
      #expect(code == 0 || code == 1, "\(outcome.errorText)")
      #expect(witness.before.jobs.allSatisfy { queue.job($0.id)?.state.isOver == true })
      return
    }
    let jobs = try ids.map { try #require(queue.job($0), "job \($0): \(outcome.errorText)") }
    #expect(jobs.allSatisfy { $0.state.isOver }, "wait \(ids.text) ended too early")
    let codes = jobs.map(Self.code)
    let expected = codes.count == 1 ? codes[0] : codes.allSatisfy { $0 == 0 } ? 0 : 1
    #expect(code == expected, "wait \(ids.text): \(outcome.errorText)")
  }

  private static func code(_ job: Job) -> Int32 {
    switch (job.state, job.run?.how) {
    case (.succeeded, .exited(0)): 0
    case (.failed, .exited(let code)): code
    case (.killed, .killed(let signal)), (.cancelled, .killed(let signal)): 128 + signal
    case (.cancelled, .exited(let code)): max(1, code)
    default: 1
    }
  }

  // MARK: No job is lost or runs twice

  private func check(_ scene: Scene, _ last: Outcome, _ killed: Set<JobID>) throws {
    let queue = try scene.queue()
    // Every wait returns the correct code.
    let isOver = queue.overCount == queue.jobs.count
    #expect(isOver)
    #expect(last.code == (queue.openCount == 0 ? 0 : 1))
    // No job is lost: every printed id exists.
    let ids = try content(scene.path("ids")).text.split(separator: "\n").compactMap { Int($0) }
    #expect(Set(ids).count == ids.count)
    let lost = ids.filter { queue.job($0) == nil }
    #expect(lost.isEmpty)
    #expect(ids.count > Self.rounds)
    let record = try content(scene.path("rec")).text.split(separator: "\n").map(String.init)
    let starts = record.filter { $0.hasPrefix("start ") }.compactMap { Int($0.dropFirst(6)) }
    // No job runs twice, and the order is kept.
    #expect(starts == starts.sorted() && Set(starts).count == starts.count)
    // Every succeeded job ran, and every other one is recorded as failed.
    let ends = Set(record.filter { $0.hasPrefix("end ") }.compactMap { Int($0.dropFirst(4)) })
    for job in queue.jobs {
      switch job.state {
      case .succeeded: #expect(ends.contains(job.id))
      case .killed, .cancelled: #expect(killed.contains(job.id), "job \(job.id)")
      case .interrupted: break
      case .skipped:
        let required = try #require(job.run?.because.flatMap(queue.job), "job \(job.id)")
        #expect(required.state != .succeeded && !starts.contains(job.id), "job \(job.id)")
      default: #expect(job.state == .failed && job.exitCode == 1, "job \(job.id): \(job.state)")
      }
    }
    // No job ran unless those that it requires succeeded.
    for id in starts {
      let required = queue.job(id)?.limits.after.joined().compactMap { queue.job($0)?.state } ?? []
      #expect(required.allSatisfy { $0 == .succeeded }, "job \(id)")
    }
    // Only a killed job leaves its folder behind, which the next job records.
    let overlaps = record.filter { $0.hasPrefix("overlap") }
    #expect(overlaps.count <= 1 || !killed.isEmpty)
    var open: Int?
    for line in record where !line.hasPrefix("overlap") {
      let id = try #require(line.split(separator: " ").last.flatMap { Int($0) })
      if line.hasPrefix("start") {
        if let open { #expect(killed.contains(open), "\(open) and \(id) at once") }
        open = id
      } else {
        #expect(open == id)
        open = nil
      }
    }
  }

  /// Cancels the running job; returns its id, if there was one.
  private func cancelJob(_ scene: Scene) throws -> JobID? {
    guard let id = try scene.queue().running.first else { return nil }
    return try scene.serialq("cancel", "\(id)").code == 0 ? id : nil
  }

  // MARK: No hook runs twice

  /// A hook can be lost with its runner, but reports no job twice.
  private func checkHooks(_ scene: Scene) throws {
    func numbers(_ name: String) throws -> [Int] {
      let file = try FileDescriptor.openIfThere(scene.path(name), .read, followingLinks: true)
      return try (file?.readAll().text ?? "").split(separator: "\n").compactMap { Int($0) }
    }
    // The last runner may still run the on-idle command, or have been killed before it.
    try scene.waitForNoRunner()
    #expect(try scene.serialq("run").code == 0)
    let queue = try scene.queue()
    let finished = try numbers("finished")
    #expect(Set(finished).count == finished.count && !finished.isEmpty)
    #expect(finished.allSatisfy { queue.job($0)?.state.isOver == true })
    #expect(!queue.isIdleHookDue)
    let idle = try numbers("idle")
    #expect(!idle.isEmpty && idle.reduce(0, +) <= queue.jobs.count)
  }

  /// Kills the running job with all its processes; returns its id, if there was one.
  ///
  /// Not one with processes outside of its group: they would run on beside the next job.
  private func killJob(_ scene: Scene) throws -> JobID? {
    let queue = try scene.queue()
    guard let job = queue.running.compactMap(queue.job).first, let pid = job.run?.pid,
      job.command == .shell(Bytes(Self.job.utf8)),
      try JobLock.isHeld(job.id, scene.queueFolder()), kill(-pid, SIGKILL) == 0
    else { return nil }
    return job.id
  }
}
