import SerialqSystem
import TestSupport
import Testing

/// The live displays of a job that asks something on its terminal.
@Suite(.beside, .needs(.tmux, .bash))
final class QuestionTests: SceneSuite {
  // Fails if the question replaces what is waited for, or a line wraps.
  @Test("wait and status -w show the question at any width", arguments: [80, 40])
  func displays(columns: Int) throws {
    let terminal = try Terminal(scene, columns: columns)
    let line = "printf 'Overwrite the configuration of all servers? [y/N] '; read x"
    try terminal.type("clear; serialq add -t -n deploy -c \"\(line)\"; serialq wait")
    let screen = try terminal.waitFor("the question") { screen in
      screen.contains { $0.hasPrefix("  seems to wait for input: Over") }
    }
    let index = try #require(screen.firstIndex { $0.hasPrefix("  seems") })
    #expect(screen[index - 1].hasPrefix("[1] deploy: "))
    #expect(screen[index + 1] == "  Answer it: serialq attach 1")
    #expect(screen[index + 2].hasPrefix("Waiting for queue default: 1 running, "))
    try terminal.press("C-c")
    try terminal.type("clear; serialq -w", until: "Answer it:")
    try terminal.waitForLine("  seems to wait for input: Over")
    #expect(try scene.serialq("cancel", "1").code == 0)
    try terminal.waitForLine("No job is running or waiting: 1 cancel")
    try terminal.press("C-c")
    let shown = try scene.serialq("show", "1").text
    let size = "with \(columns) columns and 24 lines"
    #expect(shown.contains("\nterminal   its own, \(size) if none is attached\n"), "\(shown)")
  }
}
