import SerialqSystem
import TestSupport
import Testing

@testable import SerialqCLI

/// Hosts on the command line.
@Suite struct HostAddressTests {
  private func parse(_ word: String) throws(Failure) -> HostAddress? {
    try HostAddress.parse(Bytes(word.utf8), from: "--host ")
  }

  // Fails if a colon of an address or a port counts as the one before a path.
  @Test("a host is what ssh takes, and a path of serialq there can follow")
  func parts() throws {
    let expected: [(String, String, String?)] = [
      ("box", "box", nil), ("me@box.example.org", "me@box.example.org", nil),
      ("box:/opt/bin/serialq", "box", "/opt/bin/serialq"), ("::1", "::1", nil),
      ("me@::1:/x", "me@::1", "/x"), ("ssh://me@box:22", "ssh://me@box:22", nil),
      ("[::1]", "::1", nil), ("me@[fe80::1%eth0]:/x", "me@fe80::1%eth0", "/x"),
      ("box:/with blank/serialq", "box", "/with blank/serialq"),
    ]
    for (word, destination, program) in expected {
      let address = try #require(try parse(word))
      #expect(address.destination == Bytes(destination.utf8), "\(word)")
      #expect(address.program == program.map { Bytes($0.utf8) }, "\(word)")
      #expect(address.text == word)
    }
    #expect(try parse("") == nil)
  }

  // Fails if a host becomes an option of ssh, which can name a command to execute here.
  @Test(
    "a host that ssh would misread is refused",
    arguments: [
      "-oProxyCommand=x", "me@-x", "@", "me@", "a b", "a\nb", "box:22", "box:relative", "[::1]:22",
      "[box", "[-x]", "box:/a'b",
      "box:/a!b", "box:/a\\b", "box:/a\nb",
    ])
  func refused(word: String) throws {
    #expect(throws: Failure.self) { try parse(word) }
  }

  // Fails if a shell reads the line otherwise: quote the path in double quotes.
  @Test("the command line means the same in every login shell")
  func shells() throws {
    let scene = try Scene()
    let program = scene.path("a $b `c` *")
    try writeProgram(Bytes("#!/bin/sh\necho \"$0|$*\"\n".utf8), to: program)
    let address = try #require(try parse("box:\(program.text)"))
    let call = HostCall(host: Bytes("box"), version: [], variables: [], words: [Bytes("list")])
    let line = address.commandLine(for: call)
    let shells: [Tool] = [.bash, .zsh, .fish]
    for shell in ["/bin/sh"] + shells.compactMap({ $0.path() }) {
      let outcome = try scene.script(line.text, in: shell)
      #expect(
        outcome.text == "\(program.text)|hosted \(call.word.text)\n",
        "\(shell) \(outcome.errorText)")
    }
    #expect(try scene.serialq("add", "--no-start", "true").code == 0)
    let unnamed = try #require(try parse("box")).commandLine(for: call)
    for shell in ["/bin/sh"] + shells.compactMap({ $0.path() }) {
      let outcome = try scene.script(unnamed.text, in: shell)
      #expect(outcome.text.contains("true"), "\(shell) \(outcome.errorText)")
    }
  }

  // Fails if a byte or an empty word is lost.
  @Test("a call arrives as it was made")
  func roundTrip() throws {
    let call = HostCall(
      host: Bytes("me@box"), version: Bytes("0.1.0"), variables: [Bytes("TERM=xterm")],
      words: [[], (1...255).map { UInt8($0) }, Bytes("a b"), []])
    #expect(HostCall(arguments: [HostCall.name, call.word]) == call)
    #expect(HostCall(arguments: [HostCall.name]) == nil)
    #expect(HostCall(arguments: [HostCall.name, Bytes("xyz")]) == nil)
  }

  private func split(_ words: [String], variable: String? = nil) throws(Failure) -> (
    String?, [String]
  ) {
    let (host, rest) = try HostOption.split(
      words.map { Bytes($0.utf8) }, variable: variable.map { Bytes($0.utf8) })
    return (host?.text, rest.map(\.text))
  }

  // Fails if a word of a command counts as the option, or the variable overrides it.
  @Test("--host precedes the command and overrides SERIALQ_HOST, also to name none")
  func option() throws {
    #expect(try split(["--host", "box", "add", "--host"]) == ("box", ["add", "--host"]))
    #expect(try split(["--host=box", "-w"]) == ("box", ["-w"]))
    #expect(try split(["--host", "box"], variable: "other") == ("box", []))
    #expect(try split(["add", "x"], variable: "other") == ("other", ["add", "x"]))
    #expect(try split([], variable: "other") == ("other", []))
    #expect(try split(["--host", "", "list"], variable: "other") == (nil, ["list"]))
    #expect(try split(["list"], variable: "") == (nil, ["list"]))
    #expect(throws: Failure.self) { try split(["--host"]) }
    #expect(throws: Failure.self) { try split(["--host", "a", "--host", "b"]) }
    #expect(throws: HostOption.misused("it must precede the command")) {
      try Invocation.parse([Bytes("list"), Bytes("--host"), Bytes("box")])
    }
  }

  // Fails if a process that serialq starts itself calls another machine.
  @Test("serialq starts itself on this machine", arguments: Invocation.internalWords)
  func own(word: Bytes) throws {
    #expect(try split([word.text, "x"], variable: "box") == (nil, [word.text, "x"]))
  }

  // Fails if a command after a host is not completed, or jobs of this machine are offered.
  @Test("completion knows the option, and offers no jobs or files of this machine after it")
  func completion() {
    func wanted(_ words: String..., elsewhere: Bool = false) -> Completion.Wanted {
      Completion(words.map { Bytes($0.utf8) }, isElsewhere: elsewhere).wanted
    }
    #expect(wanted("--host", "box", "") == wanted(""))
    #expect(wanted("--host=box", "set", "") == wanted("set", ""))
    #expect(wanted("--host", "b") == .words([]))
    #expect(wanted("--host", "box", "wait", "") == .words([]))
    #expect(wanted("wait", "", elsewhere: true) == .words([]))
    #expect(wanted("--host", "box", "add", "-f", "") == .words([]))
    #expect(wanted("--host", "box", "add", "m") == .command(4))
    guard case .words(let options) = wanted("--") else {
      Issue.record("no options")
      return
    }
    #expect(options.contains { $0.word == "--host" })
  }
}
