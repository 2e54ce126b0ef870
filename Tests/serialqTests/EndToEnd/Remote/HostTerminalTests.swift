import Foundation
import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// `serialq --host` on a terminal.
@Suite(.beside, .needs(.ssh, .sshd, .sshKeygen, .tmux, .bash)) struct HostTerminalTests {
  // Fails if anything that a user sees depends on where the queue is.
  @Test("the first commands of the README show the same with --host")
  func readme() throws {
    var screens: [[[String]]] = []
    for isHere in [true, false] {
      let (scene, box) = try Scene.withBox()
      let spool = isHere ? [] : [scene.localSpool.text]
      let terminal = try Terminal(scene, columns: 120, rows: 60, variables: spool + ["NO_COLOR=1"])
      var shown: [[String]] = []
      for (number, command) in try Self.readmeLines().enumerated() {
        let line = isHere ? command : command.replacing("serialq", with: Self.elsewhere)
        try terminal.type("clear; \(line); echo \"\(number)=$?\"")
        // Until then the next prompt may be missing. The number is not on the screen of before.
        let screen = try terminal.waitFor(line) { lines in
          lines.last == "$"
            && lines.contains { $0.wholeMatch(of: /(\d+)=\d+/)?.1 == "\(number)" }
        }
        // With input from a pipe, the command there has no terminal.
        if !line.contains("|") { shown.append(screen) }
      }
      screens.append(
        shown.map { $0.map { Self.withoutAge($0.replacing(Self.elsewhere, with: "serialq")) } })
      _ = box
    }
    #expect(screens[0] == screens[1])
    #expect(screens[0].count > 2)
  }

  private static let elsewhere = "serialq --host box"

  /// How long ago something was depends on how busy the machine is.
  private static func withoutAge(_ line: String) -> String {
    line.replacing(/just now| TIME ago/, with: "AGE")
  }

  /// The commands of the README's console blocks that call the program.
  private static func readmeLines() throws -> [String] {
    let file = repository.appendingPathComponent("README.md")
    let text = blocks(of: "console", in: try String(contentsOf: file, encoding: .utf8)).joined()
    let commands = text.split(separator: "\n").filter {
      $0.hasPrefix("$ ") && $0.contains("serialq")
    }
    return commands.map { line in
      String(line.dropFirst(2).split(separator: "   #")[0])
        .replacing("swift run -c release serialq", with: "serialq")
    }
  }

  // Fails if keys do not reach the job, Ctrl-C reaches ssh, or the terminal stays raw.
  @Test("attach uses the terminal of a job there")
  func attach() throws {
    let (scene, box) = try Scene.withBox()
    let terminal = try Terminal(scene, variables: ["SERIALQ_HOST=box"])
    try terminal.type(
      #"serialq add -t 'stty -echo; echo up; read a; echo "<$a>"; trap "echo int" INT; \"#)
    try terminal.type(
      #"  read b; read b; echo "<$b>"'; serialq attach; stty -a | grep -o ' echo '"#)
    try terminal.waitForLine("up")
    try terminal.type("one", until: "<one>")
    try terminal.press("C-c")
    try terminal.waitForLine("int")
    try terminal.type("two", until: "<two>")
    try terminal.waitForLine(" echo")
    try terminal.waitForLine("serialq: job 1 succeeded")
    _ = box
  }

  // Fails if the terminal stays raw, or does not show what continues.
  @Test("a lost connection restores the terminal")
  func lost() throws {
    let (scene, box) = try Scene.withBox()
    let terminal = try Terminal(scene, columns: 120, variables: ["SERIALQ_HOST=box"])
    try terminal.type("serialq add -t 'stty -echo; echo up; read a; exit 3'; serialq attach")
    try terminal.waitForLine("up")
    try box.cut()
    try terminal.waitForLine("What was queued there stays. See: serialq --host box queues")
    try terminal.type("stty -a | grep -o ' echo '; echo end")
    let screen = try terminal.waitFor("the end") { $0.contains("end") }
    #expect(screen.contains(" echo"), "\(screen)")
    try terminal.type("clear; serialq attach", until: "up")
    try terminal.press("Enter")
    try terminal.waitForLine("serialq: job 1 failed with exit code 3")
  }

  // Fails if the editor there has no terminal.
  @Test("edit opens the editor of the user there")
  func editor() throws {
    let (scene, box) = try Scene.withBox(variables: ["VISUAL=./editor"])
    let editor = "#!/bin/sh\necho edit; read -r line; echo \"$line\" >\"$1\"\n"
    try writeProgram(Bytes(editor.utf8), to: box.home.appending(path: Bytes("editor")))
    try scene.add("true")
    let terminal = try Terminal(scene, variables: ["SERIALQ_HOST=box", scene.localSpool.text])
    try terminal.type("clear; serialq edit 1; echo end", until: "edit")
    try terminal.type("false", until: "serialq: job 1 is changed: false")
  }

  // Fails if the display does not have the size of this terminal, or Ctrl-C ends only ssh.
  @Test("a live display has the size of this terminal, and Ctrl-C ends it")
  func live() throws {
    let (scene, box) = try Scene.withBox()
    try scene.add("echo \(String(repeating: "x", count: 100))")
    let terminal = try Terminal(scene, columns: 60, variables: ["SERIALQ_HOST=box"])
    try terminal.type("clear; serialq -w")
    try terminal.waitFor("a line of 60") { lines in
      lines.contains { $0.hasPrefix("1 waiting, next is job 1: echo x") && $0.count <= 60 }
    }
    try terminal.resize(columns: 40, rows: 20)
    try terminal.waitFor("a line of 40") { lines in
      lines.contains { $0.hasPrefix("1 waiting") && $0.hasSuffix("…") && $0.count <= 40 }
    }
    try terminal.press("C-c")
    try terminal.waitFor("the prompt") { $0.last?.hasSuffix("$") == true }
    try terminal.type("echo \"=$?\"")
    let screen = try terminal.waitFor("the end") { $0.contains("=130") }
    #expect(!screen.contains { $0.contains("connection was lost") })
    _ = box
  }
}
