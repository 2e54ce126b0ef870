import SerialqSystem
import TestSupport
import Testing

/// Arguments on their way to the job, in every place that stores them.
@Suite final class ExactWordsTests: SceneSuite {
  /// Text that is special to shells, terminals and text encodings.
  static let words: [Bytes] = [
    Bytes("a b"), Bytes("'"), Bytes("\""), Bytes("a'b\"c"), Bytes("one\ntwo\n"), Bytes("\n"),
    Bytes("$HOME"), Bytes("$(id)"), Bytes("`id`"), Bytes("*"), Bytes("?[a]"), [], Bytes("-n"),
    Bytes("--"), Bytes("--json"), Bytes("é日本🙂"), Bytes("e\u{301}"), [0xFF, 0xFE], [0xC3],
    Bytes("a") + [0x80] + Bytes("b"), Bytes("\u{F780}\u{F7FF}"), Bytes("\\"), Bytes("\\n"),
    Bytes("!!"), Bytes("#x"), Bytes("~"), Bytes("=ls"), Bytes("%s"), Bytes("\t"), Bytes("\r"),
    Bytes("\u{1B}[31m"), Bytes("\u{202E}abc"), Bytes("{a,b}"), Bytes("a;b&c|d>e"),
    (1...255).map { $0 }, [],
  ]

  private static let print = [Bytes("printf"), Bytes("%s\\0")]

  // Fails if an argument is converted to text, passes through a shell, or is quoted with a byte
  // missing.
  @Test("a job receives every byte of its arguments")
  func arguments() throws {
    #expect(
      try scene.serialq([Bytes("add"), Bytes("--no-start"), Bytes("--")] + Self.print + Self.words)
        .code == 0)
    #expect(
      try scene.serialq([Bytes("add"), Bytes("--no-start")] + Self.print + Self.words).code == 0)
    let script = Bytes("printf '%s\\0' \"$@\"")
    let shell = [Bytes("/bin/sh"), Bytes("-c"), script, Bytes("sh")]
    #expect(try scene.serialq([Bytes("add"), Bytes("--no-start")] + shell + Self.words).code == 0)
    let run = try scene.serialq("run")
    #expect(run.code == 0)
    let expected = Bytes(Self.words.map { $0 + [0] }.joined())
    for id in 1...3 { #expect(try scene.log(id) == expected) }
    #expect(run.output == expected + expected + expected)
  }

  // Fails if a command line is split, or is more than one argument of `sh -c`.
  @Test("the shell receives every byte of a command line")
  func commandLine() throws {
    let bytes = (1...255).filter { $0 != UInt8(ascii: "'") && $0 != UInt8(ascii: "\n") }
    let line = Bytes("printf %s '") + bytes + Bytes("' 'two") + Bytes("\nlines'")
    #expect(try scene.serialq([Bytes("add"), Bytes("--no-start"), line]).code == 0)
    #expect(try scene.serialq([Bytes("add"), Bytes("--no-start"), Bytes("-c"), line]).code == 0)
    let file = Bytes("printf %s '") + bytes.filter { $0 != 0x0D } + Bytes("'\n")
    #expect(try scene.serialq("add", "--no-start", "-f", "-") { $0.input = file }.code == 0)
    #expect(try scene.serialq("run").code == 0)
    for id in 1...2 { #expect(try scene.log(id) == bytes + Bytes("two\nlines")) }
    #expect(try scene.log(3) == bytes.filter { $0 != 0x0D })
  }

  // Fails if `list` shows a command that differs from the one that runs.
  @Test(
    "a command pasted from the list into bash does the same",
    .needs(.bash))
  func pastedIntoBash() throws {
    try paste(into: #require(Tool.bash.path()))
  }

  // As above.
  @Test(
    "a command pasted from the list into zsh does the same",
    .needs(.zsh))
  func pastedIntoZsh() throws {
    try paste(into: #require(Tool.zsh.path()))
  }

  // As above.
  @Test(
    "a command pasted from the list into dash does the same",
    .needs(.dash))
  func pastedIntoDash() throws {
    try paste(into: #require(Tool.dash.path()))
  }

  private func paste(into shell: String) throws {
    #expect(
      try scene.serialq([Bytes("add"), Bytes("--no-start"), Bytes("--")] + Self.print + Self.words)
        .code == 0)
    for word in Self.words.eased() where !word.isEmpty {
      #expect(
        try scene.serialq([Bytes("add"), Bytes("--no-start"), Bytes("--")] + Self.print + [word])
          .code == 0)
    }
    try scene.add(
      "echo 'a  b' | tr a-z A-Z; echo $((1 + 1)) \"$SHLVL\" >/dev/null", "echo !!x",
      "printf %s \u{202E}")
    for lines in ["x='1 2'\necho \"$x\"", "cat <<x\na\nx\necho 1"] {
      #expect(try scene.serialq("add", "--no-start", "-c", lines).code == 0)
    }
    _ = try scene.serialq("run")
    let commands = try scene.listedCommands()
    #expect(commands.count == (try scene.queue().jobs.count))
    for (index, command) in commands.enumerated() {
      let pasted = try RealShell.output(of: Bytes("\(command)\n".utf8), in: shell)
      #expect(try pasted == scene.log(index + 1), "\(command)")
    }
  }

  // Fails if `show` prints the command or the directory in another form than `list`.
  @Test("a directory of any bytes is entered, and shown so that it can be pasted", .needs(.bash))
  func directory() throws {
    let name = Bytes("it's $a\n") + [0xE9] + Bytes(" dir")
    #expect(try FileSystem.makeFolder(scene.work.appending(path: name)))
    #expect(
      try scene.serialq([Bytes("add"), Bytes("--no-start"), Bytes("-C"), name, Bytes("pwd")]).code
        == 0)
    #expect(try scene.serialq("run").output == scene.work.appending(path: name) + Bytes("\n"))
    let shown = try scene.serialq("show", "1").text
    let line = try #require(shown.split(separator: "\n").first { $0.hasPrefix("directory") })
    let script = "cd \(line.drop { $0 != " " }) && pwd"
    #expect(
      try RealShell.output(of: Bytes(script.utf8), in: "/bin/bash")
        == scene.work.appending(path: name) + Bytes("\n"))
  }

  // Fails if arguments are passed to the editor in a form that some sh does not read back: write
  // the text by `ShellQuote.command`.
  @Test("edit preserves every byte of unchanged arguments")
  func editedArguments() throws {
    let words: [Bytes] = [
      Bytes("a\tb\u{1}c"), Bytes("x\ny\n"), [0xFF, 0x27, 0x81], [], Bytes("$'a' \\"),
    ]
    let command = [Bytes("printf"), Bytes("%s|")] + words
    _ = try scene.serialq([Bytes("add"), Bytes("--no-start"), Bytes("--")] + command)
    #expect(try scene.edit("true").errorText == "serialq: job 1 is unchanged\n")
    #expect(try scene.queue().job(1)?.command == .arguments(command))
    #expect(try scene.edit("sed -i '$s/$/ end/'").code == 0)
    _ = try scene.serialq("run")
    #expect(try scene.log(1) == Bytes((words + [Bytes("end")]).map { $0 + Bytes("|") }.joined()))
  }

  // Fails if a byte is lost, or two texts become the same.
  @Test("text that is not UTF-8 is decoded by the rule in the manual")
  func anyBytes() throws {
    let words: [Bytes] = [
      (1...255).map { $0 }, Bytes("é\u{F780}\u{F7FF}\u{F77F}\u{F800}🙂"), [0xED, 0xA0, 0x80],
      [0xC0, 0xAF], Bytes("\"\\\n\u{1}\u{7F}\u{2028}"), [0xF0, 0x9F, 0x99], [],
    ]
    let label = Bytes("l\u{1}") + [0xFE]
    let folder = [0xE9] + Bytes("t\u{E9}")
    _ = try FileSystem.makeFolder(scene.work.appending(path: folder))
    let options = [Bytes("-n"), label, Bytes("-C"), folder]
    _ = try scene.serialq(
      [Bytes("add"), Bytes("--no-start")] + options + [Bytes("--"), Bytes("printf")] + words)
    _ = try scene.serialq([
      Bytes("add"), Bytes("--no-start"), Bytes("-c"), Bytes("echo ") + words[0],
    ])
    let jobs = try scene.listed()
    let command = try #require(jobs[0]["command"] as? [String])
    #expect(command.map(Scene.bytes(ofJSON:)) == [Bytes("printf")] + words)
    #expect((jobs[0]["label"] as? String).map(Scene.bytes(ofJSON:)) == label)
    #expect(
      (jobs[0]["directory"] as? String).map(Scene.bytes(ofJSON:))
        == scene.work.appending(path: folder))
    #expect((jobs[1]["shell"] as? String).map(Scene.bytes(ofJSON:)) == Bytes("echo ") + words[0])
  }
}
