import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// Injects every error into, and a crash at, every system call of the keeper of a job's terminal,
/// and of an attached terminal.
@Suite(.needs(.cc), .ifFaultsCanBeMade)
struct KeeperFaultTests {
  private static let output = "one\r\ntwo\r\n"

  // MARK: The keeper

  /// Runs a job whose keeper has the fault, as a runner does; returns how both ended.
  private func keep(
    _ bench: FaultBench, _ fault: Fault?, _ place: String
  ) throws -> (keeper: Ending, job: Ending) {
    let scene = bench.scene
    try bench.restore()
    let folder = try scene.queueFolder()
    let log = try FileDescriptor.open(folder.log(1), .emptyLog)
    let lock = try JobLock.take(1, folder)
    let keeperLock = try takeLock(folder.keeperLock(1))
    var terminal: PseudoTerminal? = try PseudoTerminal(TerminalWindow(columns: 80, rows: 24))
    let path = try #require(terminal?.path)
    let keeper = try ChildProcess(
      [Bytes("serialq"), KeeperProcess.word, Bytes("default"), Bytes("1")], scene,
      .files(input: terminal?.master, output: log), variables: bench.variables(for: fault),
      lock: keeperLock, blockedSignal: KeeperProcess.signal)
    let job = JobProcess(
      command: .shell(Bytes("echo one; echo two")), environment: scene.launchOptions.environment,
      directory: scene.work, umask: 0o022, streams: .terminal(path), lock: lock)
    let child = try withExtendedLifetime((terminal, lock)) { try job.start() }
    terminal = nil
    let ended = try child.end(place)
    _ = kill(keeper.pid, KeeperProcess.signal)
    return (try keeper.end(place), ended)
  }

  // Fails if the keeper ends with an error of the log or the socket, hangs, or leaves its socket.
  @Test("whichever call of the keeper fails, the job ends, and what is said of its output is true")
  func keeper() throws {
    let bench = try FaultBench()
    try prepare(bench)
    _ = try bench.takeLog()
    let clean = try keep(bench, nil, "clean")
    #expect(clean.keeper == .exited(0) && clean.job == .exited(0))
    #expect(try bench.scene.log(1).text == Self.output)
    try bench.calls().tryFaults(every: 13, from: 5) { fault, place in
      let (keeper, job) = try keep(bench, fault, place)
      let log = try bench.scene.log(1).text
      #expect(try bench.scene.queue().isConsistent, "\(place)")
      if fault.kind.isHarmless {
        #expect(keeper == .exited(0) && job == .exited(0) && log == Self.output, "\(place): \(log)")
      } else if keeper == .exited(0), try bench.scene.queue().job(1)?.execution?.unlogged == nil {
        #expect(job == .exited(0), "\(place)")
        #expect(log.contains(Self.output) || log.contains("dropped here"), "\(place): \(log)")
      } else if case .killed(let signal) = job {
        // The hangup of a terminal whose other end is closed.
        #expect(signal == SIGHUP && keeper != .exited(0), "\(place)")
      }
    }
  }

  /// A queue whose job 1 runs on a terminal, according to its journal.
  private func prepare(_ bench: FaultBench) throws {
    #expect(try bench.scene.serialq("add", "--no-start", "-t", "true").code == 0)
    try bench.scene.write(.start(1, hasTerminal: true, at: Clock.reading()))
    try bench.keep()
  }

  // MARK: The attached terminal

  // Fails if attach leaves the terminal raw, hangs, or ends the job.
  @Test("whichever call of attach fails, the job continues, and the terminal is as before")
  func attach() throws {
    let bench = try FaultBench()
    let scene = bench.scene
    let gate = try Gate(scene)
    let line = "while :; do echo begun; read x <gate; echo $x; done"
    try scene.addRunning("-t", "-c", line, until: "begun")
    _ = try bench.takeLog()
    _ = try attachAndLeave(bench, nil, "clean")
    try bench.calls().tryFaults(every: 29, from: 7) { fault, place in
      let ending = try attachAndLeave(bench, fault, place)
      if fault.kind.isHarmless { #expect(ending == .exited(0), "\(place)") }
      #expect(try scene.states() == [.running], "\(place)")
    }
    #expect(try scene.serialq("cancel", "--signal", "KILL", "1").code == 0)
    _ = try scene.serialq("wait", "1")
    withExtendedLifetime(gate) {}
  }

  /// Attaches, leaves by the key, and checks the terminal.
  private func attachAndLeave(
    _ bench: FaultBench, _ fault: Fault?, _ place: String
  ) throws -> Ending {
    let client = try TerminalClient(
      bench.scene, [Bytes("1")], variables: bench.variables(for: fault))
    // Not the title of the job, which is shown before: until the terminal is raw, the key is a
    // signal. Nor the end of the line: if the terminal cannot be made raw, it adds another carriage
    // return.
    let shown = try client.read(until: "begun\r")
    try? client.terminal.master.writeAll([0x1C])
    let ending = try client.child.end("\(place): \(shown.text)")
    if case .killed(SIGKILL) = ending { return ending }
    let canRestore = !place.contains("tcsetattr")
    #expect(client.isUsual || !canRestore, "\(place): the terminal is left raw")
    return ending
  }
}
