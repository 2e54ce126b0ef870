import Foundation
@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// A scene whose default queue has its jobs executed elsewhere, and what is true wherever that is.
///
/// Both machines have the same files, so that jobs find the gates and files of the scene.
protocol FarQueue {
  var scene: Scene { get }
  /// What the log says of a job that waits for an earlier one.
  var waiting: String { get }
  /// Expects that no process of a job is left.
  func expectNothingLeft() throws
}

extension FarQueue {
  /// A job that ends when the gate opens, and one after it.
  static var first: String { "echo begun; read x <gate; echo first >>rec" }
  static var second: String { "echo second >>rec" }

  /// Words that some shell or protocol could change.
  static var words: [Bytes] {
    ["it's", "a\n\nb\n", "", "$HOME", "`x`", "\\", "!", "'\n'\n", "-n", "*", "~"]
      .map { Bytes($0.utf8) } + [[0xFF, 0xFE, 0x80], Bytes(repeating: 0x27, count: 100_000)]
  }

  func setLauncher(_ command: String) throws {
    #expect(try scene.serialq("set", "launcher", command).code == 0)
  }

  /// Adds jobs, each a command line, to a queue that runs.
  func add(_ lines: String...) throws {
    for line in lines { #expect(try scene.serialq("add", "-c", line).code == 0) }
  }

  /// Adds jobs, and waits until the first one has printed that it has begun.
  func addRunning(_ lines: String...) throws {
    for line in lines { try add(line) }
    try scene.waitForLog(1, "begun\n")
  }

  /// Expects what the jobs have appended to this file.
  func expectRecord(_ text: String) throws {
    #expect(try content(scene.path("rec")).text == text)
  }

  /// Opens the gate when job 2 waits; expects that it ran after job 1, which was interrupted.
  func expectSecondWaits(_ gate: Gate) throws {
    try scene.waitForLog(2, waiting)
    try gate.open()
    #expect(try scene.serialq("wait", "2").code == 0)
    try expectRecord("first\nsecond\n")
    #expect(try scene.states() == [.interrupted, .succeeded])
    try expectNothingLeft()
  }

  // MARK: Results

  /// The output of a job without what Slurm says first if no node is free at once: one can be late
  /// to answer while other tests use the processors.
  func ownOutput(_ output: Bytes) -> Bytes {
    let wait = /srun: job \d+ (queued and waiting for|has been allocated) resources\n/
    var rest = output[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")),
      String(decoding: rest[...end], as: UTF8.self).wholeMatch(of: wait) != nil
    {
      rest = rest[(end + 1)...]
    }
    return Bytes(rest)
  }

  /// Runs jobs that end in every way; without perl there, a signal is reported as an exit code.
  func checkResults(_ options: [String] = [], hasPerl: Bool = true) throws {
    let endings: [(String, JobState, Ending)] = [
      ("exit 0", .succeeded, .exited(0)), ("exit 3", .failed, .exited(3)),
      ("exit 126", .failed, .exited(126)), ("exit 127", .failed, .exited(127)),
      ("exit 255", .failed, .exited(255)), ("exit 137", .failed, .exited(137)),
      ("kill -9 $$", .killed, .killed(SIGKILL)), ("kill $$", .killed, .killed(SIGTERM)),
    ]
    tally(endings.count)
    for (number, (line, state, ending)) in endings.enumerated() {
      let run = try scene.serialq(["run"] + options + ["--", "/bin/sh", "-c", line])
      #expect(run.code == ending.shellCode.rawValue)
      let job = try #require(try scene.queue().job(number + 1))
      #expect(ownOutput(try scene.log(job.id)).isEmpty, "\(line)")
      if case .killed(let signal) = ending, !hasPerl {
        #expect(job.ending == .exited(128 + signal), "\(line)")
      } else {
        #expect(job.state == state && job.ending == ending, "\(line)")
      }
    }
  }

  func checkOutput() throws {
    let line = "i=0; while [ $i -lt 500 ]; do echo out $i; echo err $i >&2; i=$((i + 1)); done; cat"
    let input = Bytes((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })
    try write(input, to: scene.path("data"))
    #expect(try scene.serialq("add", "-i", "data", "-c", line).code == 0)
    #expect(try scene.serialq("wait").code == 0)
    let expected = Bytes((0..<500).map { "out \($0)\nerr \($0)\n" }.joined().utf8)
    #expect(ownOutput(try scene.log(1)) == expected + input)
    let shown = try scene.serialq("show", "1").text
    #expect(shown.contains("launched as  ") && shown.contains("node         "))
  }

  func checkMisuse(of launcher: String, alone: String) throws {
    #expect(try scene.serialq("add", "-t", "true").code == 0)
    #expect(try scene.serialq("wait", "1").code == 126)
    #expect(try scene.log(1).text.contains("\(launcher) gives a job no terminal"))
    let help = try scene.script("\(launcher) --help")
    #expect(help.code == 0 && help.text.hasPrefix("usage: serialq set launcher '\(launcher) "))
    let alone = try scene.script("\(launcher) \(alone)")
    #expect(alone.code == 2 && alone.errorText.contains("is a launcher, which serialq starts"))
  }

  // MARK: Ends

  /// Kills the launcher of job 1, and then `another`; job 2 waits.
  func checkKilledLauncher(_ gate: Gate, another: () throws -> Void = {}) throws {
    try addRunning(Self.first, Self.second)
    #expect(kill(try scene.waitForProcess(of: 1), SIGKILL) == 0)
    try another()
    try expectSecondWaits(gate)
  }

  /// Kills the process of the launcher that reads what the job prints.
  func checkKilledReader() throws {
    let job = "trap 'echo first >>rec; exit 0' TERM; echo begun; while :; do sleep 0.1; done"
    try addRunning(job, Self.second)
    // The same program as its parent: a subshell.
    let name = try #require(ProcessStatus.of(try scene.waitForProcess(of: 1))).name.text
    #expect(try scene.launcherChild(named: name)?.send(SIGKILL) == 0)
    try expectKilledPart()
    try expectRecord("first\nsecond\n")
  }

  /// Kills the process of the launcher that sends the input of the job.
  func checkKilledSender(_ gate: Gate) throws {
    // More than all pipes and connections on the way hold.
    #expect(try scene.script("truncate -s 100M data").code == 0)
    let job = "echo begun; read x <gate; wc -c"
    #expect(try scene.serialq("add", "-i", "data", "-c", job).code == 0)
    try scene.waitForLog(1, "begun\n")
    try add(Self.second)
    #expect(try scene.launcherChild(named: "cat")?.send(SIGKILL) == 0)
    try gate.open()
    try expectKilledPart()
  }

  private func expectKilledPart() throws {
    #expect(try scene.serialq("wait", "2").code == 0)
    #expect(try scene.states() == [.interrupted, .succeeded])
    let shown = try scene.serialq("show", "1").text
    #expect(shown.contains(/a process of serialq-(ssh|slurm) was killed/), "\(shown)")
    try expectNothingLeft()
  }

  /// Kills the runner, and the launcher if its report comes without it.
  func checkKilledRunner(_ gate: Gate, isLauncherKilled: Bool = false) throws {
    try addRunning("\(Self.first); exit 3", Self.second)
    try scene.killRunner()
    if isLauncherKilled { #expect(kill(try scene.waitForProcess(of: 1), SIGKILL) == 0) }
    let next = try scene.start("run").waitForErrors("waiting for it to end")
    try gate.open()
    #expect(try next.wait().code == 1)
    try expectRecord("first\nsecond\n")
    #expect(try scene.states() == [.failed, .succeeded])
    #expect(try scene.queue().job(1)?.exitCode == 3)
    try expectNothingLeft()
  }

  /// Ends job 1 by a command, or by its time limit if there is none.
  func checkCancel(_ words: [String]) throws {
    let job = "trap 'echo first >>rec; exit 5' TERM; echo begun; while :; do sleep 0.1; done"
    let limit = words.isEmpty ? ["--timeout", "3"] : []
    #expect(try scene.serialq(["add"] + limit + ["-c", job]).code == 0)
    try scene.waitForLog(1, "begun\n")
    try add(Self.second)
    if !words.isEmpty { #expect(try scene.serialq(words).code == 0) }
    #expect(try scene.serialq("wait", "2").code == 0)
    try expectRecord("first\nsecond\n")
    #expect(try scene.states() == [words.isEmpty ? .timedOut : .cancelled, .succeeded])
    #expect(try scene.queue().job(1)?.exitCode == 5)
    try expectNothingLeft()
  }

  func checkStubborn(_ gate: Gate) throws {
    let other = "setsid sh -c 'read x <gate; echo no >>rec'"
    try addRunning("trap '' TERM; \(other) & echo begun; read x <gate")
    #expect(try scene.serialq("cancel", "1").code == 0)
    try add(Self.second)
    #expect(try scene.serialq("wait", "2").code == 0)
    #expect(try scene.queue().job(1)?.ending == .killed(SIGKILL))
    #expect(try scene.states() == [.cancelled, .succeeded])
    try gate.open()
    try expectRecord("second\n")
    try expectNothingLeft()
  }

  func checkInterrupt() throws {
    try addRunning("trap 'echo first >>rec; exit 6' INT; echo begun; while :; do sleep 0.1; done")
    #expect(try scene.serialq("cancel", "--signal", "INT", "1").code == 0)
    try scene.waitForJob(1) { $0.state.isOver }
    #expect(try scene.queue().job(1)?.exitCode == 6)
    try expectRecord("first\n")
  }

  func checkCancelWhileWaiting(_ gate: Gate) throws {
    try addRunning(Self.first, Self.second, "echo third >>rec")
    #expect(kill(try scene.waitForProcess(of: 1), SIGKILL) == 0)
    try scene.waitForLog(2, waiting)
    #expect(try scene.serialq("cancel", "2").code == 0)
    try scene.waitForLog(3, waiting)
    try gate.open()
    #expect(try scene.serialq("wait", "3").code == 0)
    try expectRecord("first\nthird\n")
    #expect(try scene.states() == [.interrupted, .cancelled, .succeeded])
    try expectNothingLeft()
  }

  /// Another queue does not wait for the job that runs in this one.
  func checkOtherQueue(_ name: String, launcher: String, _ gate: Gate) throws {
    try addRunning(Self.first)
    #expect(try scene.serialq("set", "-q", name, "launcher", launcher).code == 0)
    #expect(try scene.serialq("run", "-q", name, Self.second).code == 0)
    try gate.open()
    #expect(try scene.serialq("wait", "1").code == 0)
    try expectRecord("second\nfirst\n")
  }
}

/// A suite in which every test has its own queue of this kind, and a gate in its scene.
class FarSuite<Queue: FarQueue> {
  let queue: Queue
  let scene: Scene
  let gate: Gate

  init(_ queue: Queue) throws {
    self.queue = queue
    scene = queue.scene
    gate = try Gate(scene)
  }
}

extension Scene {
  /// Adds links to these files of a launcher to the programs.
  func addLauncher(_ names: String...) throws {
    for name in names {
      let source = repository.path + "/Sources/serialq/Launchers/\(name)"
      try #require(symlink(source, "\(programs.text)/\(name)") == 0)
    }
  }
}
