import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// Kills every kind of process repeatedly, while four processes add jobs and one waits.
@Suite final class KillRoundsTests: SceneSuite {
  private static let job = KillRounds.job("sleep 0.01 5>&-; echo end $id >>rec")

  /// The same job in a session of its own, and in a process group of its own.
  private static let jobs = [job, "setsid -w sh -c '\(job)'", "timeout 100 sh -c '\(job)'", job]

  /// The settings, of which on-idle records the number of jobs that it receives.
  private static let hooks = [
    ["on-finish", "echo $SERIALQ_JOB >>finished"],
    ["on-idle", "echo $((SERIALQ_SUCCEEDED + SERIALQ_FAILED + SERIALQ_SKIPPED)) >>idle"],
  ]

  /// Appends the printed id to `ids`; every other job requires the one before it of the same adder.
  private static let adder = """
    if [ -n "$id" ] && [ -z "$after" ]; then after=--after=$id; else after=; fi
    id=$(serialq add $after "$JOB") && echo $id >>ids
    """

  /// Waits; then prints the exit code, and the present journal lines of the jobs it waited for.
  ///
  /// Waits again if the running job was suspended.
  private static let witness = """
    while serialq wait "$@"; code=$?; [ $code = 125 ]; do sleep 0.05; done; echo $code; grep -aE "$PATTERN" "$SERIALQ_DIR/default/journal"
    """

  // Fails if `started` is written after the spawn, an orphan or the job of a runner without a lock
  // file is not waited for, a wake-up is lost, or a `wait` ends before the jobs have, or with
  // another code than theirs.
  @Test(
    "whichever process is killed, no job is lost, runs twice unreported, or overlaps another",
    .shows(Running.orphans, Running.order, Running.suspends), .needs(.flock, .setsid))
  func rounds() throws {
    for words in Self.hooks { #expect(try scene.serialq(["set"] + words).code == 0) }
    var rounds = KillRounds(scene, 15, long: 200)
    var adders = try Self.jobs.map { try rounds.adder(Self.adder, job: $0) }
    try scene.waitForFile("ids", "1\n")
    var witnesses: [Witness] = []
    for round in 0..<rounds.count {
      witnesses.append(try witness(isOfAll: round % max(5, rounds.count / 10) == 0, round))
      let waiter = try scene.start("wait")
      rounds.sleep(0...60_000)
      switch round % 4 {
      case 0 where round % 8 == 0:
        try FileSystem.remove(scene.queueFolder().runnerLock)
      case 0: if let pid = try scene.runner() { kill(pid, SIGKILL) }
      case 1:
        // Not one with processes outside of its group: they would run on beside the next job.
        if let (job, pid) = try rounds.running(), job.command == .shell(Bytes(Self.job.utf8)),
          kill(-pid, SIGKILL) == 0
        {
          rounds.ended.insert(job.id)
        }
      case 2:
        let index = Int.random(in: 0..<4, using: &rounds.random)
        // The whole group: the shell, and the `serialq add` that it waits for.
        kill(-adders[index].pid, SIGKILL)
        _ = try adders[index].wait()
        adders[index] = try rounds.adder(Self.adder, job: Self.jobs[index])
      case 3 where round % 8 == 3:
        if let id = try scene.queue().running.first, try scene.serialq("cancel", "\(id)").code == 0
        {
          rounds.ended.insert(id)
        }
      default:
        #expect(try scene.serialq("pause", "--now").code == 0)
        // The runner dies at times while the job is suspended.
        if Bool.random(using: &rounds.random), let pid = try scene.runner() { kill(pid, SIGKILL) }
        #expect(try scene.serialq("resume").code == 0)
      }
      _ = try waiter.end(SIGKILL)
    }
    try write([], to: scene.path("stop"))
    for adder in adders { _ = try adder.wait() }
    for witness in witnesses { try check(witness) }
    try check(rounds)
    try checkHooks()
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
  private func witness(isOfAll: Bool, _ round: Int) throws -> Witness {
    let before = isOfAll ? try scene.queue() : Queue()
    // Only the end: parsing all of it would take longer than the rounds.
    let ids = try content(scene.path("ids")).suffix(20)
    let last = try #require(ids.split(separator: UInt8(ascii: "\n")).last)
    let id = try #require(JobID(Bytes(last).text))
    let named = isOfAll ? nil : (round % 2 == 0 ? id : max(1, id - 2))...id
    let pattern = named.map { ids in
      "\"(job|run)\":(\(ids.map { "\($0)" }.joined(separator: "|"))),"
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
    switch (job.state, job.ending) {
    case (.succeeded, .exited(0)): 0
    case (.failed, .exited(let code)): code
    case (.killed, .killed(let signal)), (.cancelled, .killed(let signal)): 128 + signal
    case (.cancelled, .exited(let code)): max(1, code)
    default: 1
    }
  }

  // MARK: No job is lost or runs twice

  private func check(_ rounds: KillRounds) throws {
    let queue = try rounds.finish()
    // No job is lost: every printed id exists.
    let ids = try content(scene.path("ids")).text.split(separator: "\n").compactMap { Int($0) }
    #expect(Set(ids).count == ids.count && ids.count > rounds.count)
    #expect(ids.allSatisfy { queue.job($0) != nil })
    let (starts, ends) = try rounds.record(canMissEnd: rounds.ended)
    for job in queue.jobs {
      let attempt = KillRounds.Attempt(job: job.id, number: 1)
      switch job.state {
      case .succeeded: #expect(ends[attempt] != nil, "job \(job.id)")
      case .killed, .cancelled: #expect(rounds.ended.contains(job.id), "job \(job.id)")
      case .interrupted: break
      case .skipped:
        let required = try #require(job.skippedBecause.flatMap(queue.job), "job \(job.id)")
        #expect(required.state != .succeeded && !starts.contains(attempt), "job \(job.id)")
      default: Issue.record("job \(job.id): \(job.state)")
      }
      // No job ran unless those that it requires succeeded.
      guard starts.contains(attempt) else { continue }
      let required = job.limits.after.joined().compactMap { queue.job($0)?.state }
      #expect(required.allSatisfy { $0 == .succeeded }, "job \(job.id)")
    }
  }

  // MARK: No hook runs twice

  /// A hook can be lost with its runner, but reports no job twice.
  private func checkHooks() throws {
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
}
