@testable import SerialqCLI
import SerialqSystem
import TestSupport
import Testing

/// Completion in the supported shells.
@Suite(.beside) final class ShellCompletionTests: SceneSuite {
  /// The text typed before Tab, and the expected text after it.
  private static let typed: [(line: String, seen: [String])] = [
    ("serialq canc", ["> serialq cancel"]),
    ("serialq wait ", ["1 ", "make && make test", "2 ", "true"]),
    ("serialq add --retr", ["--retry-delay", "Waits for TIME before each of these attempts."]),
    ("serialq list --state w", ["--state waiting"]),
    ("serialq pause -q v", ["pause -q video"]),
    ("serialq pause --queue=v", ["--queue=video"]),
    ("serialq pause -qd", ["-qdefault"]),
    ("serialq list --state failed,ki", ["--state failed,killed"]),
    ("serialq list --state=failed,sus", ["--state=failed,suspended"]),
    ("serialq wait -q video ", ["intro: sh -c \"$(", "outro: sh -c \"$("]),
    ("serialq add -C sub", ["add -C subfolder/"]),
    ("serialq add --file=job", ["--file=jobs.txt"]),
    ("serialq add basena", ["add basename"]),
    ("serialq add -- cat job", ["-- cat jobs.txt"]),
    ("serialq --ho", ["> serialq --host"]),
    ("serialq --host box canc", ["--host box cancel"]),
    ("serialq --host=box pau", ["--host=box pause"]),
    ("serialq --host box add basena", ["--host box add basename"]),
    ("serialq --host=box add -- cat job", ["--host=box add -- cat jobs.txt"]),
  ]

  // Fails if a script does not work in its shell, or a job's command is executed or printed
  // unescaped.
  @Test(
    "Tab in bash completes commands, options, queues, ids, files and programs",
    .needs(.tmux, .bash))
  func tabInBash() throws { try checkTab(in: .bash) }

  // As above.
  @Test(
    "Tab in zsh completes commands, options, queues, ids, files and programs",
    .needs(.tmux, .bash, .zsh))
  func tabInZsh() throws { try checkTab(in: .zsh) }

  // As above.
  @Test(
    "Tab in fish completes commands, options, queues, ids, files and programs",
    .needs(.tmux, .bash, .fish))
  func tabInFish() throws { try checkTab(in: .fish) }

  private func checkTab(in shell: CompletionScript) throws {
    try fill()
    let terminal = try Terminal(scene, columns: 120, rows: 50)
    for (line, prompt) in shell.setUp {
      try terminal.type(line)
      try terminal.waitFor("the prompt of \(shell)") { $0.last == prompt }
    }
    for (line, seen) in Self.typed {
      try terminal.press(line)
      try terminal.press("Tab")
      // bash shows a list on the second Tab; if there is only one choice, the second Tab does
      // nothing.
      if shell == .bash { try terminal.press("Tab") }
      try terminal.waitFor("\(seen) after \(line)") { screen in
        seen.allSatisfy { text in screen.contains { $0.contains(text) } }
      }
      // Not Ctrl-C: it could interrupt the shell's call of the program.
      try terminal.press("C-u")
      try terminal.type("clear")
      try terminal.waitFor("an empty screen after \(line)") { $0.last == ">" }
    }
    #expect(try FileSystem.status(of: scene.path("owned")) == nil)
  }

  // Fails if the script continues with its own options in the words of another command; `true` has
  // no options.
  @Test("bash completes a job's command as bash-completion does it", .needs(.bash, .bashCompletion))
  func bashCompletion() throws {
    let script = try #require(Tool.bashCompletion.path())
    try fill()
    let outcome = try scene.script(
      """
      . \(script)
      eval "$(serialq completion bash)"
      complete -W 'one two' other
      COMP_WORDS=(serialq add --name = x other t) COMP_CWORD=6 COMP_TYPE=9
      COMP_LINE='serialq add --name=x other t' COMP_POINT=${#COMP_LINE}
      _serialq serialq t other
      echo "${COMPREPLY[@]}"
      """, in: "/bin/bash")
    #expect(outcome.text == "two\n" && outcome.errors.isEmpty, "\(outcome.errorText)")
  }

  // Fails if a line has more than a word and its description, or a character is a control
  // character.
  @Test("job commands are shown in printable characters, one per line")
  func hostile() throws {
    try fill()
    let outcome = try scene.serialq("completion", "--", "words", "wait", "-q", "video", "")
    let lines = outcome.text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 4 && lines.first == "words" && lines.last == "")
    for (id, line) in zip(1..., lines.dropFirst().dropLast()) {
      let parts = line.split(separator: "\t")
      #expect(parts.count == 2 && parts[0] == "\(id)")
      #expect(parts[1].unicodeScalars.allSatisfy { $0 == "…" || (" "..."~").contains($0) })
    }
  }

  // Fails if labels are missing, or one is offered that the shell would take apart or that is an
  // id.
  @Test("labels complete what is typed of them, if they need no quotes")
  func labels() throws {
    try fill()
    for label in ["a label", "intro", "7up", "in\tro"] {
      let added = try scene.serialq("add", "--no-start", "-q", "video", "-n", label, "true")
      #expect(added.code == 0)
    }
    func words(_ word: String) throws -> [Substring] {
      let call = ["completion", "--", "words", "wait", "-q", "video", word]
      return try scene.serialq(call).text.split(separator: "\n").dropFirst()
        .compactMap { $0.split(separator: "\t").first }
    }
    #expect(try words("in") == ["intro"])
    #expect(try words("a") == [])
    #expect(try words("") == (1...6).map { "\($0)" })
    #expect(try words("1-i") == [])
  }

  // Fails if an error of the queue is printed into the command line that is being typed.
  @Test("after an error, completion offers no candidates and prints no message")
  func faults() throws {
    try fill()
    #expect(try scene.script("chmod a+w \"$SERIALQ_DIR\"").code == 0)
    for words in [
      ["wait", ""], ["wait", "-q", ""], ["wait", "-q", "../x", ""], ["-q", "\u{7F}"],
    ] {
      let call = ["completion", "--", "words"] + words
      let outcome = try scene.serialq(call) {
        $0.environment.append(Bytes("SERIALQ_QUEUE=no good"))
      }
      #expect(outcome.text == "words\n" && outcome.errors.isEmpty && outcome.code == 0, "\(words)")
    }
  }

  /// Jobs, some with hostile commands, and files.
  private func fill() throws {
    try scene.add("make && make test", "true")
    let line = Bytes("echo '\u{1B}[2J'; `touch owned`\n$(touch owned)\tX\u{202E}") + [0xFF]
    for label in ["intro", "outro"] {
      let words = ["add", "--no-start", "-q", "video", "-n", label, "-c"].map { Bytes($0.utf8) }
      #expect(try scene.serialq(words + [line]).code == 0)
    }
    #expect(try scene.script("mkdir subfolder; : >jobs.txt").code == 0)
  }
}

extension CompletionScript {
  /// The input that starts the shell from bash with completion enabled, and the prompts that
  /// follow.
  fileprivate var setUp: [(line: String, prompt: String)] {
    switch self {
    case .bash: [(#"PS1='> '; eval "$(serialq completion bash)"; clear"#, ">")]
    case .zsh:
      [
        ("clear; PS1='1 ' exec zsh -f -i", "1"),
        (
          """
          clear() { printf '\\e[H\\e[2J\\e[3J'; }; autoload -U compinit; compinit -u -D; \
          eval "$(serialq completion zsh)"; PS1='> '; clear
          """, ">"
        ),
      ]
    case .fish:
      [
        (
          """
          clear; exec fish --no-config -C 'serialq completion fish | source; \
          function fish_prompt; echo -n "> "; end; set -g fish_greeting; \
          function clear; printf "\\e[H\\e[2J\\e[3J"; end'
          """, ">"
        )
      ]
    }
  }
}
