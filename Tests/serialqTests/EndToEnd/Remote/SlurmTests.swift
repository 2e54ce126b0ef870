@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// A scene whose default queue has Slurm execute its jobs, with `serialq-slurm`.
struct SlurmQueue: FarQueue {
  let scene: Scene
  let waiting = "serialq-slurm: waiting for "
  let cluster: SlurmCluster

  init(_ scene: Scene? = nil, hasOwnCluster: Bool = false) throws {
    let scene = try scene ?? Scene()
    self.scene = scene
    cluster = hasOwnCluster ? try SlurmCluster(scene) : try SlurmCluster.shared.get()
    if !hasOwnCluster { try cluster.addPrograms(to: scene) }
    try setLauncher("serialq-slurm")
  }

  /// Expects that Slurm has no job that does not end.
  func expectNothingLeft() throws { try cluster.waitForNoJob(of: scene) }
}

/// Jobs that Slurm executes, on three nodes.
@Suite(.beside, .needsSlurm, .needsRoot)
final class SlurmTests: FarSuite<SlurmQueue> {
  init() throws { try super.init(SlurmQueue()) }

  // Fails if the order is Slurm's, or two jobs run at once.
  @Test("jobs on three nodes run in the order of the queue, also after move")
  func order() throws {
    try queue.setLauncher("serialq-slurm --nodelist n$((SERIALQ_JOB % 3 + 1))")
    let line = """
      mkdir busy || echo overlap >>rec; echo $SERIALQ_JOB $SLURMD_NODENAME >>rec; rmdir busy
      """
    let count = isLong ? 100 : 12
    let lines = Bytes(String(repeating: "\(line)\n", count: count).utf8)
    #expect(try scene.serialq("add", "--no-start", "-f", "-") { $0.input = lines }.code == 0)
    #expect(try scene.serialq("move", "\(count)", "5", "--first").code == 0)
    #expect(try scene.serialq("move", "1", "--last").code == 0)
    #expect(try scene.serialq("start").code == 0)
    #expect(try scene.serialq("wait").code == 0)
    let order = [count, 5] + (2..<count).filter { $0 != 5 } + [1]
    try queue.expectRecord(order.map { "\($0) n\($0 % 3 + 1)\n" }.joined())
    #expect(try scene.log(1).isEmpty && scene.log(5).isEmpty)
    let shown = try scene.serialq("show", "\(count)").text
    #expect(shown.contains("node         n\(count % 3 + 1)\n"), "\(shown)")
    #expect(shown.contains("launched as  "), "\(shown)")
    #expect(shown.contains(/waited +.+ in its engine\n/), "\(shown)")
    try queue.expectNothingLeft()
  }

  // Fails if a word is evaluated by a shell, here or there, or its bytes are changed on the way.
  @Test(
    "the arguments, directory, environment, umask and input of a job are exact on a node",
    .shows(Elsewhere.words))
  func exact() throws {
    try queue.setLauncher("serialq-slurm --comment 'it'\\''s' --label")
    let words = SlurmQueue.words
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
      #expect(run.code == 0 && queue.ownOutput(run.output).isEmpty, "\(run.errorText)\(run.text)")
    }
    try run(words)
    #expect(try content(scene.path("words")) == Bytes(words.map { $0 + [0] }.joined()))
    #expect(try content(scene.path("facts")).text == "0027\ninput\n")
    // The same, here.
    let environment = try variables()
    try queue.setLauncher("")
    try run([])
    let added: Set = ["SERIALQ_ATTEMPT", "SERIALQ_KEY"]
    let expected = try variables()
    #expect(environment.filter { !added.contains(Self.name($0)) } == expected)
    #expect(Set(environment.map(Self.name)).isSuperset(of: added))
  }

  private static func name(_ variable: String) -> String { String(variable.prefix { $0 != "=" }) }

  /// What the job found, without the names that differ between two jobs.
  private func variables() throws -> [String] {
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
    try queue.checkResults(hasPerl ? [] : withoutPerl, hasPerl: hasPerl)
  }

  // Fails if a job that cannot start is interrupted, or started in another directory.
  @Test("a program or directory that is missing on a node fails with 127 or 126")
  func missing() throws {
    try write(Bytes("text"), to: scene.path("text"))
    for options in [[], withoutPerl] {
      for program in ["no-such-program", "./text"] {
        let words = ["run"] + options + ["--", program]
        #expect(try scene.serialq(words).code == (program == "./text" ? 126 : 127))
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
    #expect(run.code == 126)
    #expect(try scene.queue().job(5)?.exitCode == 126)
    let log = try scene.log(5).text
    #expect(log.contains("/folder: no such directory on n"), "\(log)")
    #expect(try FileSystem.status(of: scene.path("rec")) == nil)
  }

  // Fails if a line is lost, reordered, or mixed with srun's own.
  @Test("the output of a job on a node is one stream in order, and its input is exact")
  func output() throws { try queue.checkOutput() }

  // Fails if a job that Slurm refuses is interrupted, or the reason is not in the log.
  @Test("without Slurm, or refused by it, a job is not started, and fails with the reason")
  func refused() throws {
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
      #expect(try scene.serialq("run", "echo started >rec").code == Int32(code))
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
    try queue.checkOtherQueue("Default", launcher: "serialq-slurm", gate)
  }

  // Fails if a job waits for answers that it cannot get.
  @Test("serialq-slurm gives no terminal, explains itself, and refuses to run without a queue")
  func misuse() throws { try queue.checkMisuse(of: "serialq-slurm", alone: "true") }
}
