import Foundation
@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// A scene whose default queue has Slurm execute its jobs, with `serialq-slurm`.
struct SlurmQueue {
  let scene: Scene
  let cluster: SlurmCluster

  /// The launcher's words are for the shell: `$SERIALQ_JOB` is the job.
  init(options: String = "") throws {
    scene = try Scene()
    cluster = try SlurmCluster(scene)
    try setLauncher("serialq-slurm \(options)")
  }

  func setLauncher(_ command: String) throws {
    #expect(try scene.serialq("set", "launcher", command).code == 0)
  }

  /// Adds jobs, each a command line, to a queue that runs.
  func add(_ lines: String...) throws {
    for line in lines { #expect(try scene.serialq("add", "-c", line).code == 0) }
  }

  /// Expects what the jobs have appended to this file.
  func expectRecord(_ text: String) throws {
    #expect(try content(scene.path("rec")).text == text)
  }

  /// Expects that Slurm has no job that does not end.
  func expectNothingLeft() throws { try cluster.waitForNoJob() }
}

/// Jobs that Slurm executes, on three nodes.
@Suite(.beside, .needsSlurm, .needsRoot) struct SlurmTests {
  // Fails if the order is Slurm's, or two jobs run at once.
  @Test("a hundred jobs on three nodes run in the order of the queue, also after move")
  func order() throws {
    let queue = try SlurmQueue(options: "--nodelist n$((SERIALQ_JOB % 3 + 1))")
    let scene = queue.scene
    let line = """
      mkdir busy || echo overlap >>rec; echo $SERIALQ_JOB $SLURMD_NODENAME >>rec; rmdir busy
      """
    let lines = Bytes(String(repeating: "\(line)\n", count: 100).utf8)
    #expect(try scene.serialq("add", "--no-start", "-f", "-") { $0.input = lines }.code == 0)
    #expect(try scene.serialq("move", "100", "50", "--first").code == 0)
    #expect(try scene.serialq("move", "1", "--last").code == 0)
    #expect(try scene.serialq("start").code == 0)
    #expect(try scene.serialq("wait").code == 0)
    let order = [100, 50] + (2..<100).filter { $0 != 50 } + [1]
    try queue.expectRecord(order.map { "\($0) n\($0 % 3 + 1)\n" }.joined())
    #expect(try scene.log(1).isEmpty && scene.log(50).isEmpty)
    let shown = try scene.serialq("show", "100").text
    #expect(shown.contains("node         n2\n") && shown.contains("launched as  "), "\(shown)")
    try queue.expectNothingLeft()
  }

  // Fails if a word is evaluated by a shell, here or there, or its bytes are changed on the way.
  @Test(
    "the arguments, directory, environment, umask and input of a job are exact on a node",
    .shows(Elsewhere.words))
  func exact() throws {
    let queue = try SlurmQueue(options: "--comment 'it'\\''s' --label")
    let scene = queue.scene
    var words = ["it's", "a\n\nb\n", "", "$HOME", "`x`", "\\", "!", "'\n'\n", "-n", "*", "~"]
      .map { Bytes($0.utf8) }
    words += [[0xFF, 0xFE, 0x80], Bytes(repeating: UInt8(ascii: "'"), count: 100_000)]
    let folder = scene.path("a\nb ")
    _ = try FileSystem.makeFolder(folder)
    let script = #"""
      printf '%s\0' "$@" >../words; umask >../facts; cat >>../facts
      env -0 | grep -zaEv '^(SLURM|SRUN_|(TMPDIR|PWD|OLDPWD|_)=)' | sort -z >../env
      """#
    try write(Bytes("input\n"), to: folder.appending(path: Bytes("data")))
    func run(_ words: [Bytes]) throws {
      let given = ["name=x", "key=here", "PERL_BADLANG=1", "LANG=xx_YY.UTF-8", "folder=\n"]
      let options = given.flatMap { ["-e", $0] } + ["-e", "SLURM_JOB_ID=1", "-i", "data"]
      let start = (["run"] + options + ["--", "/bin/sh", "-c", script, "sh"]).map { Bytes($0.utf8) }
      let run = try scene.serialq(start + words) {
        $0.prelude = "umask 027"
        $0.directory = folder
      }
      #expect(run.code == 0 && run.text.isEmpty, "\(run.errorText)\(run.text)")
    }
    try run(words)
    #expect(try content(scene.path("words")) == Bytes(words.map { $0 + [0] }.joined()))
    #expect(try content(scene.path("facts")).text == "0027\ninput\n")
    // The same, here.
    let environment = try variables(scene)
    try queue.setLauncher("")
    try run([])
    let added: Set = ["SERIALQ_ATTEMPT", "SERIALQ_KEY"]
    let expected = try variables(scene)
    #expect(environment.filter { !added.contains(Self.name($0)) } == expected)
    #expect(Set(environment.map(Self.name)).isSuperset(of: added))
  }

  private static func name(_ variable: String) -> String { String(variable.prefix { $0 != "=" }) }

  /// What the job found, without the names that differ between two jobs.
  private func variables(_ scene: Scene) throws -> [String] {
    try content(scene.path("env")).text.split(separator: "\0").map(String.init)
      .filter { Self.name($0) != "SERIALQ_JOB" }
  }

  /// Has the node wait for the job as it does without perl.
  private let withoutPerl = ["-e", "PERL5OPT=-w"]

  // Fails if srun's exit code is the result, or a signal looks like an exit.
  @Test(
    "the exit code or signal of a job on a node is exact", .shows(Elsewhere.report),
    arguments: [true, false])
  func results(hasPerl: Bool) throws {
    let queue = try SlurmQueue()
    let scene = queue.scene
    let endings: [(String, JobState, Ending)] = [
      ("exit 0", .succeeded, .exited(0)), ("exit 3", .failed, .exited(3)),
      ("exit 126", .failed, .exited(126)), ("exit 127", .failed, .exited(127)),
      ("exit 255", .failed, .exited(255)), ("exit 137", .failed, .exited(137)),
      ("kill -9 $$", .killed, .killed(SIGKILL)), ("kill $$", .killed, .killed(SIGTERM)),
    ]
    for (number, (line, state, ending)) in endings.enumerated() {
      let words = ["run"] + (hasPerl ? [] : withoutPerl) + ["--", "/bin/sh", "-c", line]
      let run = try scene.serialq(words.map { Bytes($0.utf8) })
      #expect(run.code == (state == .succeeded ? 0 : 1))
      let job = try #require(try scene.queue().job(number + 1))
      let log = try scene.log(job.id).text
      #expect(log.isEmpty, "\(line): \(log)")
      if case .killed(let signal) = ending, !hasPerl {
        #expect(job.run?.how == .exited(128 + signal), "\(line)")
      } else {
        #expect(job.state == state && job.run?.how == ending, "\(line)")
      }
    }
  }

  // Fails if a job that cannot start is interrupted, or started in another directory.
  @Test("a program or directory that is missing on a node fails with 127 or 126")
  func missing() throws {
    let queue = try SlurmQueue()
    let scene = queue.scene
    try write(Bytes("text"), to: scene.path("text"))
    for options in [[], withoutPerl] {
      for program in ["no-such-program", "./text"] {
        let words = ["run"] + options + ["--", program]
        #expect(try scene.serialq(words.map { Bytes($0.utf8) }).code == 1)
      }
    }
    #expect(try scene.queue().jobs.map(\.exitCode) == [127, 126, 127, 126])
    for id in [1, 3] {
      #expect(try scene.log(id).text.contains("no-such-program: No such file or directory"))
    }
    for id in [2, 4] { #expect(try scene.log(id).text.contains("./text: Permission denied")) }
    // The nodes share their files: the directory gets another name after the start of the launcher.
    let folder = scene.path("folder")
    _ = try FileSystem.makeFolder(folder)
    let srun = scene.programs.text + "/srun"
    try #require(rename(srun, srun + ".real") == 0)
    try writeProgram(
      Bytes("#!/bin/sh\nmv '\(folder.text)' '\(folder.text)2'; exec \(srun).real \"$@\"\n".utf8),
      to: Bytes(srun.utf8))
    let run = try scene.serialq("run", "echo started >../rec") { $0.directory = folder }
    #expect(run.code == 1)
    #expect(try scene.queue().job(5)?.exitCode == 126)
    let log = try scene.log(5).text
    #expect(log.contains("/folder: no such directory on n"), "\(log)")
    #expect(try FileSystem.status(of: scene.path("rec")) == nil)
  }

  // Fails if a line is lost, reordered, or mixed with srun's own.
  @Test("the output of a job on a node is one stream in order, and its input is exact")
  func output() throws {
    let queue = try SlurmQueue()
    let scene = queue.scene
    let line = "i=0; while [ $i -lt 500 ]; do echo out $i; echo err $i >&2; i=$((i + 1)); done; cat"
    let input = Bytes((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })
    try write(input, to: scene.path("data"))
    #expect(try scene.serialq("add", "-i", "data", "-c", line).code == 0)
    #expect(try scene.serialq("wait").code == 0)
    let expected = Bytes((0..<500).map { "out \($0)\nerr \($0)\n" }.joined().utf8)
    #expect(try scene.log(1) == expected + input)
  }

  // Fails if a job that Slurm refuses is interrupted, or the reason is not in the log.
  @Test("without Slurm, or refused by it, a job is not started, and fails with the reason")
  func refused() throws {
    let queue = try SlurmQueue()
    let scene = queue.scene
    for (id, (command, code, text)) in [
      ("serialq-slurm --partition none", 126, "invalid partition specified: none"),
      ("serialq-slurm --no-such-option", 126, "unrecognized option '--no-such-option'"),
      ("serialq-slurm --clusters other", 126, "--clusters: set SLURM_CLUSTERS instead"),
      (
        "/usr/bin/env PATH=/no/such '\(scene.programs.text)/serialq-slurm'", 127,
        "srun is not installed"
      ),
    ].enumerated() {
      try queue.setLauncher(command)
      #expect(try scene.serialq("run", "echo started >rec").code == 1)
      #expect(try scene.queue().job(id + 1)?.exitCode == code)
      let log = try scene.log(id + 1).text
      #expect(log.contains(text), "\(log)")
    }
    #expect(try FileSystem.status(of: scene.path("rec")) == nil)
    try queue.expectNothingLeft()
  }

  // Fails if a queue waits for jobs of another one, or cancels them: squeue ignores case.
  @Test("queues whose names differ only in case do not wait for each other in Slurm")
  func names() throws {
    let queue = try SlurmQueue()
    let scene = queue.scene
    let gate = try Gate(scene)
    try queue.add("echo begun; read x <gate; echo first >>rec")
    try scene.waitForLog(1, "begun\n")
    #expect(try scene.serialq("set", "-q", "Default", "launcher", "serialq-slurm").code == 0)
    #expect(try scene.serialq("run", "-q", "Default", "echo second >>rec").code == 0)
    try gate.open()
    #expect(try scene.serialq("wait", "1").code == 0)
    try queue.expectRecord("second\nfirst\n")
  }

  // Fails if a job waits for answers that it cannot get.
  @Test("serialq-slurm gives no terminal, explains itself, and refuses to run without a queue")
  func misuse() throws {
    let queue = try SlurmQueue()
    let scene = queue.scene
    #expect(try scene.serialq("add", "-t", "true").code == 0)
    #expect(try scene.serialq("wait", "1").code == 126)
    #expect(try scene.log(1).text.contains("serialq-slurm gives a job no terminal"))
    let help = try scene.script("serialq-slurm --help")
    #expect(help.code == 0 && help.text.hasPrefix("usage: serialq set launcher 'serialq-slurm "))
    let alone = try scene.script("serialq-slurm true")
    #expect(alone.code == 2 && alone.errorText.contains("is a launcher, which serialq starts"))
  }
}
