import Foundation
import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

@testable import SerialqCLI

/// `serialq --host`: the queues of another machine.
@Suite(.beside, .needs(.ssh, .sshd, .sshKeygen)) struct HostTests {
  // Fails if a word passes through a shell, or an argument is converted to text.
  @Test("the words of a command arrive unchanged", arguments: [Tool.bash, .fish, .tcsh])
  func words(shell: Tool) throws {
    let (scene, box) = try Scene.withBox()
    guard let path = shell.path() else { return }
    try box.setLogin(shell: path, variables: ["SERIALQ_DIR=\(scene.spool.text)"])
    var words: [Bytes] = ["", "a b", "'", "\"", "$HOME `id` \\", "a\nb\n", "-x", "*", "#", "é"].map
    {
      Bytes($0.utf8)
    }
    words += [[0xFF, 0x80, 0x01], Bytes(repeating: 0x78, count: 50_000), [0xC3]]
    let add = ["add", "--no-start", "--", "printf", "%s|"].map { Bytes($0.utf8) }
    let added = try scene.startHost(add + words).wait()
    #expect(added.code == 0 && added.text == "1\n", "\(added.errorText)")
    #expect(try scene.serialq("run").code == 0)
    #expect(try scene.log(1) == words.flatMap { $0 + Bytes("|") })
    let home = try scene.queue().job(1)?.context.directory
    #expect(home == box.home)
    let tooLong = try scene.call("add", String(repeating: "x", count: 70_000))
    #expect(tooLong.code == 125 && tooLong.errorText.contains("add -f - <FILE"))
  }

  // Fails if the code of ssh, or of a shell there, takes the place of that of the program.
  @Test("the exit code is that of the program there, also 255")
  func codes() throws {
    let (scene, box) = try Scene.withBox()
    let codes: [Int32] = [0, 1, 2, 124, 125, 126, 127, 128, 130, 254, 255]
    for code in codes { try scene.add("exit \(code)") }
    _ = try scene.serialq("run")
    for (index, code) in codes.enumerated() {
      #expect(try scene.call("wait", "\(index + 1)").code == code)
    }
    #expect(try scene.call("wait", "99").code == 125)
    #expect(try scene.call("wait", "--timeout", "0", "1").code == 0)
    #expect(try scene.call("run", "exit 7").code == 7)
    _ = box
  }

  // Fails if standard output and standard error are one, or bytes are changed or lost.
  @Test("output is exact, and apart from messages")
  func output() throws {
    let (scene, box) = try Scene.withBox()
    let bytes = Bytes((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) })
    try write(bytes, to: box.home.appending(path: Bytes("bytes")))
    #expect(try scene.call("add", "--no-start", "cat bytes").text == "1\n")
    let run = try scene.call("run")
    #expect(run.output == bytes && run.errors.isEmpty, "\(run.errorText)")
    #expect(try scene.call("log").output == bytes)
    let refused = try scene.call("log", "9")
    let here = try scene.serialq("log", "9").errorText
    #expect(refused.output.isEmpty && !here.isEmpty)
    #expect(refused.errorText.replacing("serialq --host box ", with: "serialq ") == here)
    // What is wrong with the words is found on this machine.
    let misused = try scene.call("cancel")
    #expect(misused.errorText.contains("; serialq --host box list shows them"))
  }

  // Fails if the standard input of a call is not the one here, or is read when no command asks for
  // it: the rest of a script would be gone.
  @Test("standard input is read here, and only if the command reads it")
  func input() throws {
    let (scene, box) = try Scene.withBox()
    let lines = (1...2_000).map { "echo \($0)\n" }.joined()
    let added = try scene.call("add", "--no-start", "-f", "-", input: Bytes(lines.utf8))
    #expect(added.text == "1-2000\n", "\(added.errorText)")
    let copied = try scene.call("add", "-q", "copy", "-i", "-", "cat", input: [0xFF, 0x00, 0x0A])
    #expect(copied.text == "1\n", "\(copied.errorText)")
    #expect(try scene.call("wait", "-q", "copy").code == 0)
    #expect(try scene.log(1, in: "copy") == [0xFF, 0x00, 0x0A])
    let script = "printf 'rest\\n' | { serialq --host box list -q copy >list; cat; }"
    #expect(try scene.script(script).text == "rest\n")
    _ = box
  }

  // Fails if a variable of the other machine sends the call on, or the option does not override it.
  @Test("SERIALQ_HOST names the host, except on that host")
  func variable() throws {
    let (scene, box) = try Scene.withBox(variables: ["SERIALQ_HOST=elsewhere"])
    let added = try scene.serialq("add", "--no-start", "true") {
      $0.environment.append(Bytes("SERIALQ_HOST=box"))
    }
    #expect(added.text == "1\n", "\(added.errorText)")
    #expect(try scene.queue().job(1)?.context.directory == box.home)
    let here = try scene.serialq("--host", "", "add", "--no-start", "true") {
      $0.environment.append(Bytes("SERIALQ_HOST=box"))
    }
    #expect(here.text == "2\n")
    #expect(try scene.queue().job(2)?.context.directory == scene.work)
  }

  // Fails if the second call connects again.
  @Test("a connection is kept for the next call")
  func kept() throws {
    let (scene, box) = try Scene.withBox()
    #expect(try scene.call("list").code == 0)
    try box.refuse()
    let again = try scene.call("add", "--no-start", "true")
    #expect(again.text == "1\n", "\(again.errorText)")
  }

  // Fails if a failure to connect counts as one of the command, or does not say what to do.
  @Test("a machine or program that does not answer is reported, with what to do")
  func unanswered() throws {
    let (scene, box) = try Scene.withBox()
    func fails(_ code: Int32, _ host: String, _ parts: String...) throws {
      let outcome = try scene.serialq("--host", host, "pause")
      #expect(outcome.code == code && outcome.output.isEmpty)
      for part in parts {
        #expect(outcome.errorText.contains(part), "\(part): \(outcome.errorText)")
      }
    }
    try fails(125, "box:/nowhere/serialq", "not installed there", "Nothing was changed")
    try fails(125, "box:/dev/null", "not installed there")
    try fails(255, "nowhere.invalid", "resolve", "serialq --host nowhere.invalid")
    try FileSystem.remove(box.programs.appending(path: Bytes("serialq")))
    try fails(125, "box", "not installed there", "--host HOST:/path/of/serialq")
    try box.refuse()
    try box.cut()
    try fails(255, "box", "refused", "What was queued there stays")
    try FileSystem.remove(scene.programs.appending(path: Bytes("ssh")))
    let path = Bytes("PATH=") + scene.programs
    let missing = try scene.serialq("--host", "box", "list") { options in
      options.environment = options.environment.map { $0.starts(with: "PATH=".utf8) ? path : $0 }
    }
    #expect(missing.code == 125 && missing.errorText.contains("ssh: not found"))
  }

  // Fails if what a message advises is a command for this machine.
  @Test("what the program there advises can be pasted here")
  func advice() throws {
    let (scene, box) = try Scene.withBox()
    let missing = try scene.call("show", "9")
    #expect(missing.errorText.contains("serialq --host box "), "\(missing.errorText)")
    #expect(try scene.call("status").text.contains("serialq --host box add 'make test'"))
    _ = box
  }

  // Fails if a repeated call adds its jobs again, or prints other ids.
  @Test("an add with a known key adds nothing, and prints the same")
  func key() throws {
    let scene = try Scene()
    func add(_ key: String, _ words: String...) throws -> String {
      let call = ["add", "--no-start", "--key", key] + words
      return try scene.serialq(call.map { Bytes($0.utf8) }).text
    }
    try write(Bytes("true\nfalse\n".utf8), to: scene.path("jobs"))
    let json = try add("a", "--json", "-f", "jobs")
    #expect(try add("a", "--json", "-f", "jobs") == json)
    #expect(try add("b", "true") == "3\n" && add("b", "true") == "3\n")
    #expect(try add("a", "-f", "jobs") == "1-2\n")
    let other = try scene.serialq("add", "--no-start", "--key", "b", "false")
    #expect(other.errorText == "serialq: not added: job 3 has the same key\n")
    #expect(try scene.queue().jobs.count == 3)
    #expect(try scene.serialq("cancel", "3").code == 0)
    #expect(try scene.serialq("clean", "--all").code == 0)
    #expect(try add("b", "true") == "4\n")
  }
}
