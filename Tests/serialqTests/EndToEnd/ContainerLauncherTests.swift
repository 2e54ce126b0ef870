import Foundation
import SerialqSystem
import TestSupport
import Testing

/// The launcher that Documentation/Launchers.md shows, as a user saves it.
@Suite(
  .needs(.bwrap), .enabled(if: canContain, "bwrap has no permission to create namespaces"))
final class ContainerLauncherTests: SceneSuite {
  /// Makes the script on that page the launcher of the queue.
  private func setLauncher(_ change: (String) -> String = { $0 }) throws {
    let page = repository.appendingPathComponent("Documentation/Launchers.md")
    let scripts = blocks(of: "sh", in: try String(contentsOf: page, encoding: .utf8))
    let script = try #require(scripts.first)
    let name = Bytes("serialq-bwrap")
    try writeProgram(Bytes(change(script).utf8), to: scene.programs.appending(path: name))
    #expect(try scene.serialq("set", "launcher", name.text).code == 0)
  }

  // Fails if the container can change the system, loses the input or the exit code, or if its
  // files are left behind.
  @Test("a job in a container changes only its own directory, and its exit code is reported")
  func container() throws {
    try setLauncher()
    try write(Bytes("input"), to: scene.path("data"))
    let line = "cat; touch here; touch /usr/serialq-test; ls /tmp; exit 3"
    #expect(try scene.serialq("run", "-i", "data", line).code == 3)
    #expect(try scene.queue().job(1)?.exitCode == 3)
    let log = try scene.log(1).text
    #expect(log.hasPrefix("input") && log.contains("Read-only file system"), "\(log)")
    #expect(try scene.fileNames() == ["data", "here"])
    #expect(try FileSystem.names(in: scene.queueFolder().locks).isEmpty)
  }

  // Fails if SIGTERM ends the container instead of reaching the job.
  @Test("SIGTERM reaches a job in a container, and the next job waits for its end")
  func cancel() throws {
    try setLauncher()
    let job = "trap 'echo ended >>rec; exit 5' TERM; echo up; while :; do sleep 0.1; done"
    try scene.addRunning(job, until: "up\n")
    #expect(try scene.serialq("add", "echo next >>rec").code == 0)
    #expect(try scene.serialq("cancel", "1").code == 0)
    #expect(try scene.serialq("wait", "2").code == 0)
    #expect(try content(scene.path("rec")).text == "ended\nnext\n")
    #expect(try scene.states() == [.cancelled, .succeeded])
    #expect(try scene.queue().job(1)?.exitCode == 5)
  }

  // A shell forgets the process of an ended container in any of its next commands. Fails if the
  // code is then that of a wait that SIGTERM interrupted.
  @Test(
    "the exit code of a job in a container is reported even if it ends before SIGTERM is handled")
  func endWhileStopping() throws {
    try setLauncher { script in
      let stop = "|| kill \"$container\"\n"
      #expect(script.contains(stop))
      let gone = "while kill -0 \"$container\" 2>&-; do sleep 0.01; done\n"
      return script.replacing(stop, with: stop + gone)
    }
    let job = "trap 'exit 5' TERM; echo up; while :; do sleep 0.1; done"
    try scene.addRunning(job, until: "up\n")
    #expect(try scene.serialq("cancel", "1").code == 0)
    #expect(try scene.serialq("wait", "1").code == 5)
    #expect(try scene.queue().job(1)?.exitCode == 5)
  }

  // Fails if SIGTERM reaches only the first process, or the container ends before the others.
  @Test("nothing of a canceled job in a container is left when the next job starts", .needs(.flock))
  func leftovers() throws {
    try setLauncher()
    let job = "exec 9>held; flock 9; setsid sleep 600 & sleep 600 & echo up; wait"
    try scene.addRunning(job, until: "up\n")
    #expect(try scene.serialq("add", "flock -n held echo free >>rec").code == 0)
    #expect(try scene.serialq("cancel", "1").code == 0)
    #expect(try scene.serialq("wait", "2").code == 0)
    #expect(try content(scene.path("rec")).text == "free\n")
    #expect(try scene.states() == [.cancelled, .succeeded])
  }
}

/// Whether `bwrap` may create namespaces here.
private let canContain: Bool = {
  let scene = try? Scene()
  return (try? scene?.script("bwrap --ro-bind / / --unshare-net --unshare-ipc true").code) == 0
}()
