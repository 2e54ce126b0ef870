import SerialqSystem
import Testing

/// The first commands of a new user.
@Suite final class FirstUseTests: SceneSuite {
  // Fails if any of them writes to standard error without an error.
  @Test("without errors, only results are printed")
  func quiet() throws {
    let calls: [([String], String?)] = [
      (["list"], ""), (["wait"], ""), (["run"], ""), (["clean"], ""),
      (["add", "--no-start", "echo a; echo b >&2"], "1\n"),
      (["add", "--no-start", "-n", "x", "true"], "2\n"),
      (["run"], "a\nb\n"), (["run"], ""), (["start"], ""),
      (["log", "1"], "a\nb\n"), (["log", "2"], ""),
      (["list"], nil), (["status"], nil), (["show", "1"], nil),
      ([], nil), (["help"], nil), (["help", "add"], nil), (["--version"], nil),
      (["list", "--json"], nil), (["status", "--json"], nil), (["show", "1", "--json"], nil),
    ]
    for (words, expected) in calls {
      let outcome = try scene.serialq(words)
      #expect(outcome.code == 0, "\(words)")
      #expect(outcome.errorText == "", "\(words)")
      if let expected { #expect(outcome.text == expected, "\(words)") }
      #expect(!outcome.output.contains(0x1B), "color away from a terminal: \(words)")
    }
  }

  // Fails if advice omits the queue: the command would act on another one.
  @Test("commands in advice name the same queue, and work")
  func advice() throws {
    let queue = ["-q", "other"]
    func call(_ command: String, _ words: String...) throws -> String {
      let outcome = try scene.serialq([command] + queue + words)
      return outcome.text + outcome.errorText
    }
    #expect(try call("status").contains("serialq add -q other 'make test'"))
    #expect(try call("show", "1").contains("serialq add -q other\n"))
    for _ in 1...7 { _ = try call("add", "--no-start", "exit 1") }
    #expect(try call("show", "9").contains("serialq list -q other\n"))
    #expect(try call("log", "1").contains("serialq log -q other -f 1\n"))
    #expect(try call("log").contains("serialq log -q other -f\n"))
    #expect(try call("status").contains("serialq run -q other\n"))
    let follower = try scene.start("log", "-q", "other", "-f", "1").waitForErrors(
      "serialq start -q other\n")
    #expect(try call("run").contains("serialq log -q other 1\n"))
    #expect(try call("status").contains("4 more open: serialq list -q other --open\n"))
    #expect(try call("status").contains("serialq log -q other 7\n"))
    #expect(try call("move", "1", "--first").contains("serialq list -q other --state waiting\n"))
    #expect(try call("edit", "1", "--after", "1").contains("serialq list -q other\n"))
    #expect(try follower.wait().code == 0)
    let run = try scene.start("run", "-q", "other", "echo up; read x <gate").waitForOutput("up")
    _ = try call("add", "--no-start", "true")
    let stopped = try run.end(15)
    #expect(stopped.errorText.contains("serialq run -q other\n"), "\(stopped)")
    // As in a job of that queue.
    let elsewhere = try scene.serialq("status", "-q", "default") {
      $0.environment.append(Bytes("SERIALQ_QUEUE=other"))
    }
    #expect(elsewhere.text.contains("serialq add -q default 'make test'"), "\(elsewhere)")
  }

  // Fails if a result is printed on standard error, or to a file that has a standard descriptor's
  // number.
  @Test("closed standard descriptors are harmless")
  func closedDescriptors() throws {
    try scene.add("true")
    let before = try scene.journal()
    let closed = try scene.script("serialq list >&-")
    #expect(closed.code == 125)
    #expect(closed.errorText.hasPrefix("serialq: cannot write to standard output: "))
    #expect(try scene.script("serialq list </dev/null 2>&-").code == 0)
    #expect(try scene.script("serialq list <&-").code == 0)
    #expect(try scene.script("serialq list <&- >&- 2>&-").code == 125)
    #expect(try scene.journal() == before)
    #expect(try scene.script("serialq run 'echo x' <&- 2>&-").text == "x\n")
    #expect(try scene.states() == [.succeeded, .succeeded])
  }
}
