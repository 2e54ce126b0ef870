import Foundation
import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// Kills every part between a queue and the work of its jobs elsewhere, at random moments.
@Suite(.beside, .needs(.flock, .setsid)) final class LauncherRoundsTests: SceneSuite {
  // Fails if a launcher's end is the end of its job, a report is taken from another attempt, or the
  // runner starts a job before the launcher of the one before has ended.
  @Test(
    "whichever part of a launcher's engine is killed, no job runs twice or overlaps another",
    .shows(Elsewhere.fence, Elsewhere.outlives, Elsewhere.report))
  func launcher() throws {
    let engine = try FakeEngine(scene)
    var rounds = LauncherRounds(KillRounds(scene, 15, long: 500), client: "client")
    try rounds.run(delay: 0...80_000)
    engine.stop()
    try rounds.check()
  }

  // Fails if the fence is left before the work ends, is entered by two, or by a job that was given
  // up; or if ssh's end, or that of its session, counts as the end of the job.
  @Test(
    "whichever part of a connection is killed, no job on another machine runs twice or overlaps",
    .needs(.ssh, .sshd, .sshKeygen, .perl),
    .shows(Elsewhere.fence, Elsewhere.outlives, Elsewhere.report), arguments: [false, true])
  func ssh(isKept: Bool) throws {
    let queue = try SSHQueue(scene, SSHServer(scene))
    if isKept {
      try queue.box.configure("ControlMaster auto", "ControlPersist 60", "ControlPath ~/%C")
    }
    var rounds = LauncherRounds(
      KillRounds(scene, 6, long: 100), client: "ssh", box: queue.box)
    try rounds.run(delay: 0...500_000)
    if isKept { _ = try scene.script("ssh -O exit box") }
    try rounds.check()
  }

  // Fails if the end of any process of the launcher, also one that starts or watches another, is
  // taken for the end of its job, or never noticed.
  @Test(
    "whichever process of serialq-slurm is killed, no job on a node runs twice or overlaps",
    .needsSlurm, .needsRoot, .shows(Elsewhere.fence, Elsewhere.report))
  func slurm() throws {
    let queue = try SlurmQueue(scene)
    var rounds = LauncherRounds(KillRounds(scene, 6, long: 100), client: "srun")
    try rounds.run(delay: 0...500_000)
    try rounds.check()
    try queue.expectNothingLeft()
  }
}

/// Random kills, and what must be true of the journal and of the record of the work afterwards.
private struct LauncherRounds {
  private enum Victim: CaseIterable {
    case runner, launcher, both, client, part, session, cancel, cancelAtOnce
  }

  private var rounds: KillRounds
  private let scene: Scene
  /// The name of the process that waits for the engine's answer.
  private let client: String
  private let box: SSHServer?
  private var count = 0
  /// After the rounds.
  private var queue = Queue()

  init(_ rounds: KillRounds, client: String, box: SSHServer? = nil) {
    self.rounds = rounds
    scene = rounds.scene
    self.client = client
    self.box = box
  }

  mutating func run(delay: ClosedRange<UInt32>) throws {
    for _ in 0..<rounds.count {
      for _ in 0..<Int.random(in: 1...2, using: &rounds.random) { try add(delay) }
      // Otherwise the queue would grow: a job is slower than a round.
      if count > 4 { try scene.waitForJob(count - 4) { $0.state.isOver } }
      rounds.sleep(delay)
      try strike(Victim.allCases.randomElement(using: &rounds.random) ?? .runner)
    }
    #expect(try scene.serialq("start").code == 0)
    queue = try rounds.finish()
  }

  /// Adds a job that records its start and its end, and whether another one is at work.
  ///
  /// A third of the jobs take longer than the next one needs to start without a fence.
  private mutating func add(_ delay: ClosedRange<UInt32>) throws {
    count += 1
    let code = Int.random(in: 0...3, using: &rounds.random) == 0 ? 3 : 0
    let isLong = Int.random(in: 0...2, using: &rounds.random) == 0
    let time = isLong ? delay.upperBound * 3 : .random(in: delay, using: &rounds.random) / 4
    let seconds = String(format: "%.3f", Double(time) / 1_000_000)
    let retries = Int.random(in: 0...2, using: &rounds.random) == 0 ? "1" : "0"
    // Ignores a signal until the start is recorded: its handler would record an end without a
    // start.
    let setUp = """
      trap '' TERM; end() { trap '' TERM; echo end $id $1 >>rec; echo out $id; exit $1; };
      """
    let line = KillRounds.job(setUp: setUp, "trap 'end 5' TERM; sleep \(seconds); end \(code)")
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
    case .part:
      // Another one, or none, of the engine, which is no part of serialq.
      if client != "client" { try killPart() }
    case .session: try box?.cut()
    case .cancel, .cancelAtOnce:
      guard let running else { return }
      let signal = victim == .cancel ? "TERM" : "KILL"
      if try scene.serialq("cancel", "\(running)", "--signal", signal).code == 0 {
        rounds.ended.insert(running)
      }
    }
  }

  /// Kills the runner, if there is one; when this returns, it is dead, and `add` starts another
  /// one.
  private func killRunner() throws {
    guard let pid = try scene.runner(), kill(pid, SIGKILL) == 0 else { return }
    try scene.waitForNoRunner()
  }

  /// Kills any process that the launcher has started.
  private mutating func killPart() throws {
    let queue = try scene.queue()
    guard let launcher = queue.running.compactMap(queue.job).first?.running?.pid else { return }
    let all = try FileSystem.names(in: Bytes("/proc")).compactMap { Int32($0.text) }
      .compactMap { ProcessStatus.of($0) }
    var parts: [ProcessStatus] = []
    var parents: Set = [launcher]
    while !parents.isEmpty {
      let children = all.filter { parents.contains($0.parent) }
      parts += children
      parents = Set(children.map(\.pid))
    }
    guard let part = parts.randomElement(using: &rounds.random) else { return }
    let handle = ProcessHandle(part.pid)
    // Checked after the handle was opened: before, the number can be reused.
    if ProcessStatus.of(part.pid)?.identity == part.identity { _ = handle.send(SIGKILL) }
  }

  /// Expects that everything has ended, as the journal says.
  func check() throws {
    #expect(queue.jobs.count == count, rounds.seedText)
    let (starts, ends) = try rounds.record(canMissEnd: [])
    for job in queue.jobs {
      let attempt = KillRounds.Attempt(job: job.id, number: job.attempts)
      let isTrue = try check(job, ended: ends[attempt], hasStarted: starts.contains(attempt))
      let status = String(describing: job.status)
      #expect(isTrue, "job \(job.id): \(job.state), \(status); \(rounds.seedText)")
    }
    try rounds.expectNothingLeft(box?.processes() ?? [])
  }

  /// Whether the journal agrees with what the last attempt of a job recorded.
  private func check(_ job: Job, ended code: Int?, hasStarted: Bool) throws -> Bool {
    switch job.state {
    case .succeeded:
      // Of the fake engine, the output is elsewhere.
      let isComplete = try client == "client" || scene.log(job.id).text.contains("out \(job.id) ")
      return code == 0 && isComplete
    case .failed: return job.exitCode == 3 ? code == 3 : job.exitCode == 126 && !hasStarted
    case .cancelled: return rounds.ended.contains(job.id)
    case .interrupted: return true
    default: return false
    }
  }
}

extension Scene {
  /// The launcher of the running job.
  func launcher() throws -> ProcessHandle? {
    let queue = try queue()
    guard let job = queue.running.compactMap(queue.job).first, let pid = job.running?.pid else {
      return nil
    }
    let handle = ProcessHandle(pid)
    // Checked after the handle was opened: before, the number can be reused.
    return try JobLock.isHeld(job.id, queueFolder()) ? handle : nil
  }

  /// The process of this name that the launcher of the running job has started.
  func launcherChild(named name: String) throws -> ProcessHandle? {
    let queue = try queue()
    guard let pid = queue.running.compactMap(queue.job).first?.running?.pid else { return nil }
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
