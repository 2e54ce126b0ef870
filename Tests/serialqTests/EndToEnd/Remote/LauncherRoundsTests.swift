import Foundation
import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// Kills every part between a queue and the work of its jobs elsewhere, at random moments.
///
/// `SERIALQ_SEED=0x… swift test --filter LauncherRoundsTests` repeats the jobs, victims and moments
/// of a reported failure; SERIALQ_KILLS sets their number.
@Suite(.beside, .needs(.flock, .setsid)) struct LauncherRoundsTests {
  private static let seed: UInt64? = ProcessInfo.processInfo.environment["SERIALQ_SEED"].flatMap {
    UInt64($0.hasPrefix("0x") ? String($0.dropFirst(2)) : $0, radix: $0.hasPrefix("0x") ? 16 : 10)
  }

  private static func rounds(_ usual: Int, long: Int) -> Int {
    ProcessInfo.processInfo.environment["SERIALQ_KILLS"].flatMap { Int($0) }
      ?? (isLong ? long : usual)
  }

  private static func newSeed() -> UInt64 {
    seed ?? (isLong ? .random(in: 0 ... .max) : 20_261_123)
  }

  // Fails if a launcher's end is the end of its job, a report is taken from another attempt, or the
  // runner starts a job before the launcher of the one before has ended.
  @Test(
    "whichever part of a launcher's engine is killed, no job runs twice or overlaps another",
    .shows(Elsewhere.fence, Elsewhere.outlives, Elsewhere.report))
  func launcher() throws {
    let scene = try Scene()
    let engine = try FakeEngine(scene)
    var rounds = LauncherRounds(scene, seed: Self.newSeed(), client: "client")
    try rounds.run(Self.rounds(15, long: 500), delay: 0...80_000)
    engine.stop()
    try rounds.finish()
  }

  // Fails if the fence is left before the work ends, is entered by two, or by a job that was given
  // up; or if ssh's end, or that of its session, counts as the end of the job.
  @Test(
    "whichever part of a connection is killed, no job on another machine runs twice or overlaps",
    .needs(.ssh, .sshd, .sshKeygen, .perl),
    .shows(Elsewhere.fence, Elsewhere.outlives, Elsewhere.report), arguments: [false, true])
  func ssh(isKept: Bool) throws {
    let queue = try SSHQueue()
    if isKept {
      try queue.box.configure("ControlMaster auto", "ControlPersist 60", "ControlPath ~/%C")
    }
    var rounds = LauncherRounds(queue.scene, seed: Self.newSeed(), client: "ssh", box: queue.box)
    try rounds.run(Self.rounds(6, long: 100), delay: 0...500_000)
    if isKept { _ = try queue.scene.script("ssh -O exit box") }
    try rounds.finish()
  }
}

/// Random kills, and what must be true of the journal and of the record of the work afterwards.
private struct LauncherRounds {
  private enum Victim: CaseIterable {
    case runner, launcher, both, client, session, cancel, cancelAtOnce
  }

  /// An attempt, as the jobs record it.
  private struct Attempt: Hashable, Comparable {
    var job: JobID
    var number: Int

    static func < (one: Self, other: Self) -> Bool {
      (one.job, one.number) < (other.job, other.number)
    }
  }

  private let scene: Scene
  /// The name of the process that waits for the engine's answer.
  private let client: String
  private let box: SSHServer?
  private let seed: UInt64
  private var random: SeededGenerator
  private var count = 0
  private var cancelled: Set<JobID> = []

  init(_ scene: Scene, seed: UInt64, client: String, box: SSHServer? = nil) {
    self.scene = scene
    self.seed = seed
    self.client = client
    self.box = box
    random = SeededGenerator(seed: seed)
  }

  private var seedText: Comment { "SERIALQ_SEED=0x\(String(seed, radix: 16))" }

  // MARK: The rounds

  mutating func run(_ rounds: Int, delay: ClosedRange<UInt32>) throws {
    tally(rounds)
    for _ in 0..<rounds {
      for _ in 0..<Int.random(in: 1...2, using: &random) { try add(delay) }
      // Otherwise the queue would grow: a job is slower than a round.
      if count > 4 { try scene.waitForJob(count - 4) { $0.state.isOver } }
      // The random moment is under test.
      usleep(.random(in: delay, using: &random))
      try strike(Victim.allCases.randomElement(using: &random) ?? .runner)
    }
    #expect(try scene.serialq("start").code == 0)
    let code = try scene.serialq("wait").code
    #expect(code == (try scene.queue().openCount == 0 ? 0 : 1), seedText)
  }

  /// Adds a job that records its start and its end, and whether another one is at work.
  ///
  /// A third of the jobs take longer than the next one needs to start without a fence.
  private mutating func add(_ delay: ClosedRange<UInt32>) throws {
    count += 1
    let code = Int.random(in: 0...3, using: &random) == 0 ? 3 : 0
    let isLong = Int.random(in: 0...2, using: &random) == 0
    let time = isLong ? delay.upperBound * 3 : .random(in: delay, using: &random) / 4
    let seconds = String(format: "%.3f", Double(time) / 1_000_000)
    let retries = Int.random(in: 0...2, using: &random) == 0 ? "1" : "0"
    let line = """
      id="$SERIALQ_JOB $SERIALQ_ATTEMPT"; \
      end() { trap '' TERM; echo end $id $1 >>rec; echo out $id; exit $1; }; trap 'end 5' TERM; \
      exec 5>>busy; flock -n 5 || echo overlap $id >>rec; \
      echo start $id >>rec; sleep \(seconds); end \(code)
      """
    #expect(try scene.serialq("add", "--retries", retries, "-c", line).code == 0)
  }

  private mutating func strike(_ victim: Victim) throws {
    let running = try scene.queue().running.first
    switch victim {
    case .runner: try killRunner()
    case .launcher: _ = try scene.launcher()?.send(SIGKILL)
    case .both:
      let launcher = try scene.launcher()
      try killRunner()
      _ = launcher?.send(SIGKILL)
    case .client: _ = try scene.launcherChild(named: client)?.send(SIGKILL)
    case .session: try box?.cut()
    case .cancel, .cancelAtOnce:
      guard let running else { return }
      let signal = victim == .cancel ? "TERM" : "KILL"
      if try scene.serialq("cancel", "\(running)", "--signal", signal).code == 0 {
        cancelled.insert(running)
      }
    }
  }

  /// Kills the runner, if there is one; when this returns, it is dead, and `add` starts another one.
  private func killRunner() throws {
    guard let pid = try scene.runner(), kill(pid, SIGKILL) == 0 else { return }
    let lock = try RunnerLock.open(scene.queueFolder())
    try lock.lock()
    lock.unlock()
  }

  // MARK: The oracle

  /// Expects that everything has ended, as the journal says.
  func finish() throws {
    let queue = try scene.queue()
    let record = try content(scene.path("rec")).text.split(separator: "\n")
    let lines = record.map { $0.split(separator: " ") }
    #expect(lines.allSatisfy { $0[0] != "overlap" }, seedText)
    let work = lines.filter { $0[0] != "overlap" }.map { words in
      (attempt: Attempt(job: Int(words[1]) ?? 0, number: Int(words[2]) ?? 0), words: words)
    }
    let starts = work.filter { $0.words[0] == "start" }.map(\.attempt)
    #expect(starts == starts.sorted() && Set(starts).count == starts.count, seedText)
    for (line, next) in zip(work, work.dropFirst() + [work[0]]) where line.words[0] == "start" {
      let isEnd = next.words[0] == "end" && next.attempt == line.attempt
      #expect(isEnd, "\(line.attempt) and \(next.attempt) at once; \(seedText)")
    }
    let ends = Dictionary(
      work.filter { $0.words[0] == "end" }.map { ($0.attempt, Int($0.words[3])) }
    ) { first, _ in first }
    #expect(queue.jobs.count == count, seedText)
    for job in queue.jobs {
      let attempt = Attempt(job: job.id, number: job.run?.attempt ?? 0)
      let isTrue = try check(job, ended: ends[attempt] ?? nil, hasStarted: starts.contains(attempt))
      #expect(isTrue, "job \(job.id): \(job.state), \(String(describing: job.run)); \(seedText)")
    }
    try checkNothingIsLeft()
  }

  /// Whether the journal agrees with what the last attempt of a job recorded.
  private func check(_ job: Job, ended code: Int?, hasStarted: Bool) throws -> Bool {
    switch job.state {
    case .succeeded:
      // Of the fake engine, the output is elsewhere.
      let isComplete = try box == nil || scene.log(job.id).text.contains("out \(job.id) ")
      return code == 0 && isComplete
    case .failed: return job.exitCode == 3 ? code == 3 : job.exitCode == 126 && !hasStarted
    case .cancelled: return cancelled.contains(job.id)
    case .interrupted: return true
    default: return false
    }
  }

  /// Expects that no runner, launcher or client exists, and no work.
  private func checkNothingIsLeft() throws {
    try scene.waitForNoRunner()
    for pid in try scene.processes().union(box?.processes() ?? []) {
      guard let descriptor = ProcessHandle(pid).descriptor else { continue }
      let isGone = try waitForInput(on: [descriptor], timeoutMilliseconds: 10_000) == [true]
      #expect(isGone, "process \(pid) is left; \(seedText)")
    }
  }
}

extension Scene {
  /// The launcher of the running job.
  func launcher() throws -> ProcessHandle? {
    let queue = try queue()
    guard let job = queue.running.compactMap(queue.job).first, let pid = job.run?.pid else {
      return nil
    }
    let handle = ProcessHandle(pid)
    // Checked after the handle was opened: before, the number can be reused.
    return try JobLock.isHeld(job.id, queueFolder()) ? handle : nil
  }

  /// The process of this name that the launcher of the running job has started.
  func launcherChild(named name: String) throws -> ProcessHandle? {
    let queue = try queue()
    guard let pid = queue.running.compactMap(queue.job).first?.run?.pid else { return nil }
    for number in try FileSystem.names(in: Bytes("/proc")).compactMap({ Int32($0.text) })
    where ProcessStatus.of(number)?.parent == pid {
      let handle = ProcessHandle(number)
      // Checked after the handle was opened: before, the number can be reused.
      let status = ProcessStatus.of(number)
      if status?.parent == pid, status?.name.text == name { return handle }
    }
    return nil
  }
}
