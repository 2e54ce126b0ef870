import Foundation
import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// Kills runners, keepers, jobs and attached terminals at random moments.
@Suite struct TerminalKillRoundsTests {
  /// The number of kills; SERIALQ_KILLS sets it.
  private static let rounds: Int =
    ProcessInfo.processInfo.environment["SERIALQ_KILLS"].flatMap { Int($0) }
    ?? (isLong ? 200 : 15)

  /// Records its start and end, and takes an exclusive lock in between: an overlap is recorded.
  private static let job = """
    mkdir busy || echo overlap $SERIALQ_JOB >>rec
    echo start $SERIALQ_JOB >>rec; printf 'Sure? '; sleep 0.02; echo; echo end $SERIALQ_JOB >>rec
    rmdir busy
    """

  /// Ends with the test, also if the test is killed.
  private static let adder = """
    while [ ! -e stop ] && kill -0 $PPID; do serialq add -t -c "$JOB" >>ids || exit; sleep 0.1; done
    """

  private enum Victim: CaseIterable { case runner, keeper, job, client, none }

  // Fails if the keeper ends with its runner, the next job starts beside one whose keeper died, a
  // client leaves its terminal raw, or a keeper waits for a runner that does not come.
  @Test(
    "whichever process of a job with a terminal is killed, nothing is lost, left or told wrongly",
    .shows(Running.orphans, Running.order))
  func rounds() throws {
    let scene = try Scene()
    let adder = try scene.launch([Bytes("/bin/sh"), Bytes("-c"), Bytes(Self.adder.utf8)]) {
      $0.environment.append(Bytes("JOB=\(Self.job)".utf8))
    }
    try scene.waitForFile("ids", "1\n")
    var random = SeededGenerator(seed: 20_261_123)
    var killed: Set<JobID> = []
    tally(Self.rounds)
    for round in 0..<Self.rounds {
      let victim = Victim.allCases[round % Victim.allCases.count]
      let client = try Client(scene)
      // The random moment is under test.
      usleep(.random(in: 0...80_000, using: &random))
      if let id = try kill(victim, client, scene) { killed.insert(id) }
      try client.finish(wasKilled: victim == .client)
      if victim == .runner { #expect(try scene.serialq("start").code == 0) }
    }
    try write([], to: scene.path("stop"))
    _ = try adder.wait()
    let code = try scene.serialq("wait").code
    #expect(code == (try scene.queue().openCount == 0 ? 0 : 1))
    try check(scene, killed)
  }

  /// Kills a process; returns the job that it ends, if it ends one.
  private func kill(_ victim: Victim, _ client: Client, _ scene: Scene) throws -> JobID? {
    let folder = try scene.queueFolder()
    switch victim {
    case .none: return nil
    case .client: client.kill()
    case .runner: if let pid = try scene.runner() { Glibc.kill(pid, SIGKILL) }
    case .keeper:
      guard let id = try scene.queue().running.first else { return nil }
      return KeeperLock.keeper(id, folder)?.handle.send(SIGKILL) == 0 ? id : nil
    case .job:
      let queue = try scene.queue()
      guard let job = queue.running.compactMap(queue.job).first, let pid = job.run?.pid,
        try JobLock.isHeld(job.id, folder), Glibc.kill(-pid, SIGKILL) == 0
      else { return nil }
      return job.id
    }
    return nil
  }

  /// An attached terminal.
  private final class Client {
    private let terminal: PseudoTerminal
    private let slave: FileDescriptor
    private let child: ChildProcess

    init(_ scene: Scene) throws {
      terminal = try PseudoTerminal(TerminalWindow(columns: 80, rows: 24))
      slave = try FileDescriptor.open(terminal.path, .readWrite, followingLinks: true)
      let process = JobProcess(
        command: .arguments([Bytes("serialq"), Bytes("attach")]),
        environment: scene.launchOptions.environment + [Bytes("TERM=xterm")],
        directory: scene.work, umask: 0o022, streams: .terminal(terminal.path), lock: nil)
      guard case .running(let pid) = process.start() else {
        throw Failure("attach", "it cannot be started", next: "See whether serialq is there.")
      }
      child = ChildProcess(pid: pid)
    }

    func kill() { _ = Glibc.kill(child.pid, SIGKILL) }

    /// Waits for its end, and checks the terminal.
    func finish(wasKilled: Bool) throws {
      let handle = ProcessHandle(child.pid)
      let ended = try waitForInput(
        on: [try #require(handle.descriptor)],
        timeoutMilliseconds: Int32(LaunchedProgram.patience * 1_000))
      if ended == [false] {
        Issue.record("an attached terminal does not end")
        kill()
      }
      let ending = try child.reap()
      guard !wasKilled else { return }
      if case .killed(let signal) = ending { Issue.record("attach was killed by \(signal)") }
      var mode = termios()
      #expect(tcgetattr(slave.raw, &mode) == 0)
      let isUsual = mode.c_lflag & tcflag_t(ICANON) != 0 && mode.c_lflag & tcflag_t(ECHO) != 0
      #expect(isUsual, "the terminal is left raw")
    }
  }

  private func check(_ scene: Scene, _ killed: Set<JobID>) throws {
    let queue = try scene.queue()
    #expect(queue.overCount == queue.jobs.count)
    let ids = try content(scene.path("ids")).text.split(separator: "\n").compactMap { Int($0) }
    #expect(ids == queue.jobs.map(\.id))
    let record = try content(scene.path("rec")).text.split(separator: "\n").map(String.init)
    func numbers(_ word: String) -> [Int] {
      record.filter { $0.hasPrefix(word) }.compactMap { Int($0.dropFirst(word.count + 1)) }
    }
    let (starts, ends) = (numbers("start"), Set(numbers("end")))
    #expect(starts == starts.sorted() && Set(starts).count == starts.count)
    // Only a killed job leaves its folder behind, which the next job records.
    let overlaps = numbers("overlap")
    #expect(overlaps.count <= 1 || !killed.isEmpty)
    var open: Int?
    for line in record where !line.hasPrefix("overlap") {
      let id = try #require(line.split(separator: " ").last.flatMap { Int($0) })
      if line.hasPrefix("start") {
        if let open { #expect(!ends.contains(open), "\(open) and \(id) at once") }
        open = id
      } else {
        #expect(open == id, "\(id) ended beside another")
        open = nil
      }
    }
    for job in queue.jobs {
      switch job.state {
      case .succeeded:
        #expect(ends.contains(job.id), "job \(job.id)")
        // Its keeper may have been killed when the job had just ended, and the log says so.
        let log = try scene.log(job.id).text
        let isCut = killed.contains(job.id) && log.contains("terminal was ended by SIGKILL")
        #expect(isCut || log.hasSuffix("Sure? \r\n"), "job \(job.id): \(log)")
      case .killed, .failed: #expect(killed.contains(job.id), "job \(job.id): \(job.state)")
      case .interrupted: break
      default: Issue.record("job \(job.id): \(job.state)")
      }
    }
    try checkNothingIsLeft(scene)
  }

  /// No keeper, no job and no runner, and no file of a keeper.
  private func checkNothingIsLeft(_ scene: Scene) throws {
    try scene.waitForNoRunner()
    let locks = scene.spool + Bytes("/default/locks")
    for name in try FileSystem.names(in: locks) where name.text.hasSuffix(".keeper") {
      let lock = try FileDescriptor.openIfThere(locks.appending(path: name), .readWrite)
      try lock?.lock()
      lock?.unlock()
    }
    #if os(Linux)
      for pid in try scene.processes() {
        guard let descriptor = ProcessHandle(pid).descriptor else { continue }
        let isGone = try waitForInput(on: [descriptor], timeoutMilliseconds: 10_000) == [true]
        #expect(isGone, "process \(pid) is left")
      }
    #endif
  }
}
