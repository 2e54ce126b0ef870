import SerialqSystem
import Testing

/// What a job leaves changed on the terminal of `run` and `log`.
@Suite(.needs(.tmux, .bash))
final class TerminalRestoreTests: SceneSuite {
  /// A color, a hidden cursor and the alternate screen.
  private static let job = #"printf 'red\n\033[31m\033[?25l\033[?1049h'"#

  private func expectRestored(_ terminal: Terminal, after text: String) throws {
    try terminal.waitFor("the main screen") { $0.first == "$ \(text)" && $0.last == "$" }
    #expect(try terminal.isCursorShown())
    try terminal.type("echo plain", until: "plain")
    let line = try terminal.screen(colors: true).last { $0.contains("plain") && !$0.contains("$") }
    #expect(line == "plain")
  }

  // Fails if the prompt is red, on the alternate screen, or without a cursor.
  @Test(
    "run and log restore the terminal after a job that left it changed",
    arguments: ["run", "log 1", "log -f 1", "log -n 1"])
  func restored(command: String) throws {
    try scene.add(Self.job)
    if command != "run" { #expect(try scene.serialq("run").code == 0) }
    let terminal = try Terminal(scene)
    // Typed after `clear`, so that it is the first line of the main screen.
    try terminal.type("serialq \(command)")
    try expectRestored(terminal, after: "serialq \(command)")
  }

  // Fails if Ctrl-C ends the program before it restores the terminal.
  @Test("Ctrl-C in log -f and run restores the terminal", arguments: ["run", "log -f", "log -f 1"])
  func interrupted(command: String) throws {
    let job = "\(Self.job); echo up; read x <gate"
    if command == "run" {
      try scene.add(job)
    } else {
      _ = try scene.serialq("add", job)
    }
    let terminal = try Terminal(scene, typing: "serialq \(command)")
    try terminal.waitFor("the output") { $0.contains("up") }
    try terminal.press("C-c")
    try expectRestored(terminal, after: "serialq \(command)")
  }
}
