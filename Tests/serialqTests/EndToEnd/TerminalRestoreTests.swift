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

  // Fails if the reset moves the cursor or clears the screen: a color is most of what jobs leave.
  @Test("the reset changes nothing else", arguments: ["run", "log 1"])
  func harmless(command: String) throws {
    try scene.add(#"printf 'one\n\033[31mtwo\n'"#)
    if command != "run" { #expect(try scene.serialq("run").code == 0) }
    let terminal = try Terminal(scene, typing: "echo a; echo b")
    try terminal.waitFor("the prompt") { $0.count == 4 && $0.last == "$" }
    // An earlier editor, whose end has saved a place of the cursor.
    try terminal.type(#"clear; printf '\033[?1049h\033[?1049l'; seq 9; serialq \#(command)"#)
    let screen = try terminal.waitFor("the prompt") { $0.last == "$" && $0.contains("two") }
    #expect(screen.starts(with: (1...9).map(String.init)), "\(screen)")
    #expect(screen.dropLast().contains("one"), "\(screen)")
    let place = screen.firstIndex(of: "two") ?? 0
    #expect(screen[place - 1] == "one", "\(screen)")
  }

  // Fails if a program that is left, or its end, leaves a mode behind that the next one does not
  // expect.
  @Test("attach restores every mode at the end")
  func modes() throws {
    let all = #"\033[?1049h\033[?1;1000;1006;2004h\033=\033[?7;25l\033[4h\033(0\033[3;5r\033[>4;2m"#
    #expect(try scene.serialq("add", "-t", "-c", "printf '\(all)up'; read x <gate").code == 0)
    try scene.waitForLog(1, "up")
    let terminal = try Terminal(scene, typing: "clear; echo above; serialq attach")
    try terminal.waitFor("the alternate screen") { !$0.contains("above") }
    try terminal.press(#"C-\"#)
    try terminal.waitFor("the prompt") { $0.first == "above" && $0.last == "$" }
    let flags = """
      #{alternate_on} #{cursor_flag} #{insert_flag} #{keypad_cursor_flag} #{keypad_flag} \
      #{mouse_any_flag} #{wrap_flag} #{scroll_region_upper} #{scroll_region_lower}
      """
    let left = try terminal.format(flags)
    #expect(left == "0 1 0 0 0 0 1 0 23")
    try terminal.type("echo jkl", until: "jkl")
    try gate.open()
    #expect(try scene.serialq("wait").code == 0)
  }
}
