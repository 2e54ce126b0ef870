@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// A scene whose default queue executes its jobs on another machine, with `serialq-ssh`.
struct SSHQueue: FarQueue {
  let scene: Scene
  let waiting = "waiting for the end of job 1/1, process "
  let box: SSHServer

  init() throws {
    let scene = try Scene()
    try self.init(scene, SSHServer(scene))
  }

  init(_ scene: Scene, _ box: SSHServer) throws {
    self.scene = scene
    self.box = box
    // As installed with a link to it: the launcher finds its other part beside the file.
    try scene.addLauncher("serialq-ssh")
    try setLauncher("serialq-ssh box")
  }

  func expectNothingLeft() throws { #expect(try box.processes().isEmpty) }
}

/// Jobs on another machine, executed by `serialq-ssh`.
@Suite(.beside, .needs(.ssh, .sshd, .sshKeygen, .flock, .perl))
final class SSHLauncherTests: FarSuite<SSHQueue> {
  init() throws { try super.init(SSHQueue()) }

  // Fails if ssh's exit code is the result, or a signal looks like an exit.
  @Test(
    "the exit code or signal of a job on another machine is exact", .shows(Elsewhere.report))
  func result() throws { try queue.checkResults() }

  // Fails if a job that cannot start is interrupted, or started in another directory.
  @Test("a program or directory that is missing on another machine fails with 127 or 126")
  func missing() throws {
    try write(Bytes("text"), to: scene.path("text"))
    #expect(try scene.serialq("add", "--no-start", "no-such-program", "word").code == 0)
    #expect(try scene.serialq("add", "--no-start", "./text", "word").code == 0)
    #expect(try scene.serialq("run").code == 1)
    #expect(try scene.queue().jobs.map(\.exitCode) == [127, 126])
    #expect(try scene.log(1).text.contains("no-such-program: No such file or directory"))
    // The machines share their files: every directory of this one is there.
    try queue.setLauncher("serialq-ssh --directory /no/such box")
    #expect(try scene.serialq("run", "echo started >rec").code == 126)
    #expect(try scene.queue().job(3)?.exitCode == 126)
    #expect(try scene.log(3).text.contains("/no/such: no such directory on "))
    #expect(try FileSystem.status(of: scene.path("rec")) == nil)
  }

  // Fails if PATH or HOME of this machine are used there, or the launcher's variables are passed
  // on.
  @Test("the environment is that of a login there, with the job's names and what --env names")
  func environment() throws {
    try queue.setLauncher("serialq-ssh --env GIVEN --env directory --env UNSET box")
    try queue.box.setLogin(variables: ["FAR=far", "sq_far=1", "folder=far", "UNSET=far"])
    let line = #"""
      echo "$HOME"; echo "$FAR $folder $GIVEN" "$directory $UNSET"
      echo "$SERIALQ_QUEUE $SERIALQ_JOB $SERIALQ_ATTEMPT ${SERIALQ_KEY#*/}"
      env | grep -c -e ^SERIALQ_RESULT -e ^SERIALQ_WORDS -e ^OTHER -e ^PERL
      """#
    let run = try scene.serialq(
      "run", "-e", "GIVEN=it's", "-e", "directory=here", "-e", "OTHER=here", "-c", line)
    let home = queue.box.home.text
    #expect(run.text == "\(home)\nfar far it's here far\ndefault 1 1 default/1/1\n0\n")
  }

  // Fails if the two streams are read separately, or the end of the output is lost.
  @Test("the output of a job on another machine is one stream in order, and its input is exact")
  func output() throws { try queue.checkOutput() }

  // Fails if a refused connection counts as lost, or the reason is not in the log.
  @Test("without a connection a job is not started, and fails with what ssh says")
  func refused() throws {
    func expectFailure(_ id: JobID, _ code: Int, _ text: String) throws {
      #expect(try scene.serialq("run", "echo started >rec").code == Int32(code))
      #expect(try scene.queue().job(id)?.exitCode == code)
      let log = try scene.log(id).text
      #expect(log.contains(text), "\(log)")
      #expect(try FileSystem.status(of: scene.path("rec")) == nil)
    }
    // The first of two values counts.
    try queue.box.configure("UserKnownHostsFile /dev/null")
    try expectFailure(1, 126, "Host key verification failed")
    try queue.box.configure("PubkeyAuthentication no")
    try expectFailure(2, 126, "Permission denied")
    try queue.box.configure()
    try queue.box.setLogin(variables: ["PATH=/no/such"])
    try expectFailure(3, 126, "ssh ended without a message")
    try queue.box.setLogin()
    try queue.box.refuse()
    try expectFailure(4, 126, "Connection refused")
  }

  // Fails if a job starts without the lock that delays the next one.
  @Test("a machine without flock is refused, with the package that it needs")
  func noFlock() throws {
    try queue.box.setLogin(tools: ["dd", "uname", "tr"])
    #expect(try scene.serialq("run", "true").code == 127)
    #expect(try scene.queue().job(1)?.exitCode == 127)
    let log = try scene.log(1).text
    #expect(log.contains("there is no flock on ") && log.contains(": install util-linux"))
  }

  // Fails if a lock that cannot be taken counts as one that another job has.
  @Test("a machine whose file system has no locks is refused")
  func noLocks() throws {
    let flock = queue.box.programs.appending(path: Bytes("flock"))
    try writeProgram(Bytes("#!/bin/sh\necho no locks >&2\nexit 1\n".utf8), to: flock)
    #expect(try scene.serialq("run", "echo started >rec").code == 126)
    #expect(try scene.queue().job(1)?.exitCode == 126)
    #expect(try scene.log(1).text.contains("no locks\nserialq: flock cannot lock "))
    #expect(try FileSystem.status(of: scene.path("rec")) == nil)
  }

  // Fails if a job waits for answers that it cannot get.
  @Test("serialq-ssh gives no terminal, explains itself, and refuses to run without a queue")
  func misuse() throws { try queue.checkMisuse(of: "serialq-ssh", alone: "box true") }
}
