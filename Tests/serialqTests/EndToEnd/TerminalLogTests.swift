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

  /// Queues jobs with a terminal, without a runner.
  private func add(_ lines: String...) throws {
    for line in lines {
      let outcome = try scene.serialq("add", "--no-start", "-t", "-c", line)
      #expect(outcome.code == 0, "\(outcome.errorText)")
    }
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
