@testable import SerialqSystem
import TestSupport
import Testing

/// Reading the output of jobs with a terminal.
@Suite final class TerminalLogTests: SceneSuite {
  /// A color that stays on, a progress bar, and a line without an end.
  private static let job = #"""
    printf '\033[32mgreen\n'; for i in 1 2 3; do printf "\r$i of 3 \033[K"; done; printf '\nend'
    """#
  private static let bytes =
    "\u{1B}[32mgreen\r\n\r1 of 3 \u{1B}[K\r2 of 3 \u{1B}[K\r3 of 3 \u{1B}[K\r\nend"
  private static let text = "green\n3 of 3\nend"

  /// Queues jobs with a terminal, without a runner.
  private func add(_ lines: String...) throws {
    for line in lines {
      let outcome = try scene.serialq("add", "--no-start", "-t", "-c", line)
      #expect(outcome.code == 0, "\(outcome.errorText)")
    }
  }

  // Fails if control sequences reach a file, or --raw changes a byte.
  @Test("where the output is no terminal, log and run print the text, and --raw the bytes")
  func text() throws {
    try add(Self.job)
    #expect(try scene.serialq("run").text == Self.text)
    for words in [["log"], ["log", "1"], ["log", "-f", "1"], ["log", "-n", "3", "1"]] {
      let outcome = try scene.serialq(words)
      #expect(outcome.code == 0 && outcome.text == Self.text, "\(words) \(outcome.errorText)")
    }
    #expect(try scene.serialq("log", "-n", "2").text == "3 of 3\nend")
    #expect(try scene.serialq("log", "-n", "1").text == "end")
    #expect(try scene.serialq("log", "--raw").text == Self.bytes)
    #expect(try scene.serialq("log", "--raw", "-f", "-n", "all", "1").text == Self.bytes)
    #expect(try scene.serialq("log", "--raw", "-n", "1").text == "end")
  }

  // Fails if a job without a terminal is converted, or one with a terminal is not.
  @Test("each of several jobs is printed as it ran, and --raw changes nothing for the others")
  func several() throws {
    try add(Self.job)
    try scene.add(Self.job)
    let plain = Self.bytes.replacing("\r\n", with: "\n")
    #expect(try scene.serialq("run").text == Self.text + plain)
    #expect(try scene.serialq("log", "1", "2").text == Self.text + plain)
    #expect(try scene.serialq("log", "--raw", "1", "2").text == Self.bytes + plain)
  }

  // Fails if a line comes only with the next one, a state of a line is printed that is not its last,
  // or the end is lost.
  @Test(
    "log -f prints each line of the text when it ends", arguments: ["log -f 1", "log -f --all"])
  func follow(command: String) throws {
    try add("printf '10%%\\r'; echo '20%'; read x <gate; printf '30%%\\r'; printf 40%%")
    let run = try scene.start("run")
    let follower = try scene.start(command.split(separator: " ").map(String.init)).waitForOutput(
      "20%\n")
    try run.waitForOutput("20%\n")
    try gate.open()
    let end = command.contains("--all") ? "40%\n" : "40%"
    #expect(try follower.wait().text == "20%\n\(end)")
    #expect(try run.wait().text == "20%\n40%")
  }

  // Fails if following begins in the bytes, or with lines that a terminal does not show.
  @Test("log -f begins with the last lines of the text")
  func followLastLines() throws {
    try add(#"seq 20; printf 'x\r'; echo c; printf 'y\rd\n'; read x <gate; echo e"#)
    let run = try scene.start("run").waitForOutput("d\n")
    try scene.waitForLog(1, "y\rd\r\n")
    let follower = try scene.start("log", "-f", "-n", "3", "1").waitForOutput("d\n")
    try gate.open()
    #expect(try follower.wait().text == "20\nc\nd\ne\n")
    #expect(try run.wait().code == 0)
    let all = (1...20).map { "\($0)\n" }.joined() + "c\nd\ne\n"
    #expect(try scene.serialq("log").text == all)
    #expect(try scene.serialq("log", "-n", "4").text == "20\nc\nd\ne\n")
  }

  // Fails if the conversion starts anew at a retry, or the second attempt is not followed.
  @Test("the text of a retried job is that of all its attempts")
  func attempts() throws {
    let line = "printf '1 %%\\rtry '; echo $SERIALQ_ATTEMPT; test -e tried || { >tried; false; }"
    let outcome = try scene.serialq(
      "add", "--no-start", "-t", "--retries", "1", "--retry-delay", "0", "-c", line)
    #expect(outcome.code == 0, "\(outcome.errorText)")
    let run = try scene.serialq("run")
    #expect(run.code == 0 && run.text.hasPrefix("try") && !run.text.contains("%"))
    #expect(try scene.serialq("log").text == run.text)
    #expect(run.text.split(separator: "\n").count == 2)
  }

  // Fails if an excerpt shows control sequences, or an old state of a progress bar.
  @Test("status, its JSON and the report show the text")
  func excerpts() throws {
    try add(
      "\(Self.job); echo; exit 3",
      #"printf "Rows\033[1m\r$((25 * 2)) %%\r"; printf '75 %%\033[K\rx\b'; read x <gate"#)
    let run = try scene.start("run").waitForOutput("end\n")
    try scene.waitForLog(2, "x\u{8}")
    let status = try scene.serialq("status")
    #expect(status.text.contains("3 of 3\n") && status.text.contains("x5 %\n"), "\(status.text)")
    for words in [["status"], ["status", "--json"], ["report", "--html", "-"]] {
      let shown = try scene.serialq(words)
      #expect(shown.code == 0)
      for hidden in ["^[", "\u{1B}", "1 of 3", "2 of 3", "50 %", "\\u001b"] {
        #expect(!shown.text.contains(hidden), "\(words): \(hidden)")
      }
    }
    #expect(try scene.serialq("report", "--html", "-").text.contains("green\n3 of 3\nend"))
    try gate.open()
    #expect(try run.wait().code == 1)
  }

  // Fails if the text has no colors, the color of a line continues in the next, or NO_COLOR has no
  // effect.
  @Test("on a terminal, log prints the text with its colors", .needs(.script))
  func colors() throws {
    try add(Self.job)
    #expect(try scene.serialq("run").code == 0)
    let lines = ["green", "3 of 3", "end"]
    // A space with a style is more than what covers other text.
    let colored = ["green", "3 of 3 ", "end"].map { "\u{1B}[32m\($0)\u{1B}[m" }
    for (line, expected) in [
      ("serialq log 1", colored.joined(separator: "\r\n") + TerminalModes.reset.text),
      // The color was set before.
      ("serialq log -n 2 1", lines.suffix(2).joined(separator: "\r\n")),
      ("NO_COLOR=1 serialq log 1", lines.joined(separator: "\r\n")),
      ("TERM=dumb serialq log 1", lines.joined(separator: "\r\n")),
      // Where sequences could be shown, none is added.
      ("TERM=dumb serialq log --raw 1", Self.bytes.replacing("\r\n", with: "\r\r\n")),
      ("serialq log --raw -n 1 1", "end"),
    ] {
      let shown = try scene.launch(["/usr/bin/env", "script", "-qefc", line, "/dev/null"]) {
        $0.environment += [Bytes("TERM=xterm"), Bytes("SHELL=/bin/sh")]
      }.wait()
      #expect(shown.code == 0 && shown.text == expected, "\(line): \(Visible.text(shown.output))")
    }
  }

  // Fails if the output of a terminal is converted while it is followed on one, or is not undone.
  @Test(
    "on a terminal, log -f prints the output itself and restores the terminal at the end",
    .needs(.tmux, .bash))
  func followOnTerminal() throws {
    try add(#"printf 'a\nb\nc\n\033[2A\033[31mB\n'; read x <gate; printf '\033[?25l'"#)
    let run = try scene.start("run")
    try scene.waitForLog(1, "B")
    let terminal = try Terminal(scene, typing: "clear; serialq log -f 1")
    try terminal.waitFor("the lines") { $0 == ["a", "B", "c"] }
    try gate.open()
    try terminal.waitFor("the prompt") {
      $0.prefix(2) == ["a", "B"] && $0.contains { $0.hasPrefix("$") }
    }
    #expect(try terminal.isCursorShown())
    #expect(try run.wait().code == 0)
  }

  // Fails if the text differs from what another terminal shows of the same output.
  @Test("the text is what tmux shows", .needs(.tmux, .bash))
  func screens() throws {
    let terminal = try Terminal(scene, columns: 200, rows: 40)
    for (number, sample) in TerminalTextTests.samples.enumerated() {
      let output = Bytes(sample.output.replacing("^", with: "\u{1B}").utf8)
      let file = "sample-\(number)"
      // Below, because the cursor can be anywhere.
      try write(output + Bytes("\u{1B}[r\u{1B}[30;1Hover".utf8), to: scene.path(file))
      try terminal.type("clear; cat \(file); read -rsn 1 x")
      let screen = try terminal.waitFor(file) { $0.last == "over" }
      try terminal.press("x")
      try terminal.waitFor("the prompt") { $0.last?.hasSuffix("$") == true }
      var shown = screen.dropLast()
      while shown.last?.isEmpty == true { shown.removeLast() }
      let text = TerminalText.plain(output).text.split(
        separator: "\n", omittingEmptySubsequences: false)
      var expected = text.map { line in
        var screenLine = expanded(String(line))
        while screenLine.last == " " { screenLine.removeLast() }
        return screenLine
      }
      while expected.last?.isEmpty == true { expected.removeLast() }
      #expect(Array(shown) == expected, "\(sample.output)")
    }
  }

  /// A line with spaces in place of tabs.
  private func expanded(_ line: String) -> String {
    var expanded = ""
    for character in line {
      let count = character == "\t" ? 8 - DisplayWidth.of(expanded) % 8 : 0
      expanded += count == 0 ? String(character) : String(repeating: " ", count: count)
    }
    return expanded
  }
}
