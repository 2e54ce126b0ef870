@testable import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import Testing

/// Jobs whose process cannot be created.
@Suite final class CannotRunTests: SceneSuite {
  struct Trouble: CustomTestStringConvertible {
    var words: [String]
    var code: Int
    var reason: String
    var testDescription: String { words.joined(separator: " ") }
  }

  static let troubles = [
    Trouble(words: ["--", "no-such-program"], code: 127, reason: "no-such-program: not found"),
    Trouble(
      words: ["cd", "/tmp"], code: 127,
      reason: "cd: not found; a shell command line is one argument, after all options, without --"),
    Trouble(
      words: ["A=1", "make"], code: 127,
      reason: "A=1: not found; a shell command line is one argument, after all options, without --"),
    Trouble(
      words: ["ls | wc", "-l"], code: 127,
      reason:
        "ls | wc: not found; a shell command line is one argument, after all options, without --"),
    Trouble(words: ["--", "./plain"], code: 126, reason: "./plain: Permission denied"),
    Trouble(
      words: ["-C", "gone", "true"], code: 125, reason: "/gone: No such file or directory"),
  ]

  // Fails if the shell takes the line for its options.
  @Test(
    "a command line may begin with a hyphen or a plus sign", arguments: ["-no-such", "+no-such"])
  func hyphen(line: String) throws {
    let run = try scene.serialq("run", "-c", line)
    #expect(run.text.contains("\(line): not found"), "\(run.text)")
    #expect(try scene.queue().job(1)?.ending == .exited(127))
  }

  // Fails if the reason is lost between the spawn and the journal, or the queue stops there.
  @Test(
    "a job that cannot run has the reason in its log, in show and in status", arguments: troubles)
  func reason(trouble: Trouble) throws {
    try write(Bytes("text"), to: scene.path("plain"))
    #expect(
      try scene.serialq(["add", "--no-start"] + trouble.words).code == 0)
    try scene.add("echo next")
    let run = try scene.serialq("run")
    #expect(run.code == 1)
    #expect(run.text.contains(trouble.reason) && run.text.hasSuffix("next\n"))
    #expect(run.errorText.contains("job 1 could not be run (\(trouble.code))"))
    #expect(try scene.log(1).text.contains(trouble.reason))
    #expect(try scene.serialq("show", "1").text.contains(trouble.reason))
    #expect(try scene.serialq("status").text.contains(trouble.reason))
    let job = try #require(try scene.listed().first)
    #expect(job["state"] as? String == "failed")
    #expect(job["exitCode"] as? Int == trouble.code)
  }

  // Fails if the runner dies: that job and each job after it would be interrupted without a reason.
  @Test("a job whose environment is lost fails with that reason, and the next one runs")
  func environmentLost() throws {
    try scene.add("echo next")
    #expect(try scene.serialq("add", "--no-start", "--first", "-e", "A=b", "true").code == 0)
    let lost = try #require(try scene.queue().job(2)).context.environment
    let file = try scene.queueFolder().environments.appending(path: lost)
    try FileSystem.remove(file)
    let run = try scene.serialq("run")
    #expect(run.code == 1)
    #expect(run.errorText.contains("job 2 could not be run (125): "), "\(run.errorText)")
    #expect(run.errorText.contains(file.text) && run.text.hasSuffix("next\n"))
    #expect(try scene.states() == [.succeeded, .failed])
  }

  // Fails if the runner dies, once for each job.
  @Test("a hook that cannot run is reported, and has no other effect")
  func hook() throws {
    #expect(try scene.serialq("set", "on-finish", "true").code == 0)
    let log = try scene.queueFolder().hookLog
    #expect(try FileSystem.makeFolder(log))
    try scene.add("echo 1", "echo 2")
    let run = try scene.serialq("run")
    #expect(run.code == 0 && run.text == "1\n2\n" && run.errorText == "", "\(run.errorText)")
    let reported =
      "on-finish command of job 2 could not be run (125): creating \(log.text): it is not a regular file"
    #expect(try scene.serialq().text.contains(reported))
  }

  // Fails if a failed run remains the queue's runner while it prints: jobs added then would wait
  // for it.
  @Test("a failed run releases the queue, even while its reader is slow")
  func failedRun() throws {
    let pipe = try Gate(scene, "pipe")
    try scene.add("yes | head -c 300000", "echo two")
    let folder = try scene.queueFolder()
    #expect(try FileSystem.makeFolder(folder.log(2)))
    let run = try scene.launch(["/bin/sh", "-c", "exec serialq run >pipe"])
    try scene.waitForJob(1, .succeeded)
    try scene.waitForNoRunner()
    #expect(try scene.script("rmdir '\(folder.log(2).text)'; serialq add 'echo three'").code == 0)
    try scene.waitForJob(3, .succeeded)
    #expect(try scene.states() == [.succeeded, .succeeded, .succeeded])
    #expect(try scene.script("head -c 300000 <pipe").output.count == 300_000)
    #expect(try run.wait().code == 125)
    withExtendedLifetime(pipe) {}
  }
}
