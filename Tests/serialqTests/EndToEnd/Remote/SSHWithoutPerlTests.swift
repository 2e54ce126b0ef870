import SerialqSystem
import TestSupport
import Testing

/// Jobs on another machine that has no perl, and so no exact report of a signal.
@Suite(.beside, .needs(.ssh, .sshd, .sshKeygen, .flock, .setsid))
final class SSHWithoutPerlTests: FarSuite<SSHQueue> {
  init() throws {
    try super.init(SSHQueue())
    try queue.box.setLogin(
      tools: ["cat", "dd", "flock", "mkdir", "setsid", "sh", "sleep", "timeout", "tr", "uname"])
  }

  // Fails if a shell that waits for the job counts as one of its processes, and gets its signals.
  @Test("without perl there, a canceled job ends with its processes, and its report arrives")
  func cancel() throws {
    try queue.addRunning("trap '' TERM; setsid sh -c 'echo begun; read x <gate' & read x <gate")
    try queue.add("trap 'echo handled; exit 5' TERM; echo begun; while :; do sleep 0.1; done")
    #expect(try scene.serialq("cancel", "1").code == 0)
    try scene.waitForLog(2, "begun\n")
    #expect(try scene.queue().job(1)?.ending == .exited(128 + SIGKILL))
    #expect(try scene.serialq("cancel", "2").code == 0)
    try scene.waitForJob(2, .cancelled)
    #expect(try scene.log(2).text.contains("handled\n"))
    #expect(try scene.queue().job(2)?.exitCode == 5)
    #expect(try queue.box.processes().isEmpty)
  }

  // Fails if setsid's own exit codes are used, or a job gets another standard input or error.
  @Test("without perl there, exit codes, input and output are the same")
  func results() throws {
    try write(Bytes("input\n"), to: scene.path("data"))
    let run = try scene.serialq("run", "-i", "data", "-c", "cat; echo error >&2; exit 255")
    #expect(run.code == 255 && run.text == "input\nerror\n")
    #expect(try scene.serialq("run", "no-such-program", "word").code == 127)
    #expect(try scene.queue().jobs.map(\.exitCode) == [255, 127])
    #expect(try scene.log(2).text.contains("no-such-program: No such file or directory"))
  }

  // Fails if the lock ends with the process that waits for the job.
  @Test("without perl there, a job whose launcher was killed delays the next one")
  func fence() throws { try queue.checkKilledLauncher(gate) }
}
