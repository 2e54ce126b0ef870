import SerialqSystem
import TestSupport
import Testing

/// Text with control sequences, printed on a real terminal; `script(1)` creates the terminal, and
/// passes its output on.
@Suite(.needs(.script))
final class HostileTextTests: SceneSuite {
  /// Titles, colors, clear screen, C1 in both forms, backspace, bidirectional and invisible text.
  private static let hostile =
    Bytes("x\u{1B}]0;t\u{7}\u{1B}[5m\u{1B}[2J\u{1B}c\u{9B}5m\u{8D}") + [0x9B, 0x90, 0xFF]
    + Bytes("\rover\u{8}\u{7F}\u{B}\u{C}\u{E}\u{202E}\u{2066}\u{200B}\u{200F}\u{FEFF}\u{2028}y")

  /// The control sequences in the output, except the program's own colors and line ends; a display
  /// also returns to the start of the line.
  private func steering(_ bytes: Bytes, isDrawn: Bool = false) -> [UnicodeScalar] {
    var text = String(decoding: bytes, as: UTF8.self)
    guard Bytes(text.utf8) == bytes else { return ["\u{FFFD}"] }
    text = text.replacing(/\x1B\[(0|1|2|31|32|33|36)?m/, with: "").replacing("\r\n", with: "\n")
    if isDrawn { text = text.replacing(/\x1B\[(\d+A|B|K)/, with: "") }
    return text.unicodeScalars.filter { scalar in
      switch scalar.properties.generalCategory {
      case .control: scalar != "\n" && !(isDrawn && scalar == "\r")
      case .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
      default: false
      }
    }
  }

  /// A shell line on a terminal, with the text as `$H`.
  private func start(_ line: String) throws -> LaunchedProgram {
    try scene.launch(["/usr/bin/env", "script", "-qefc", line, "/dev/null"]) {
      $0.environment += [Bytes("TERM=xterm"), Bytes("SHELL=/bin/sh"), Bytes("H=") + Self.hostile]
    }
  }

  /// A queue in which every value that a user can choose is such text.
  private func fill() throws {
    let folder = scene.work.appending(path: Self.hostile)
    _ = try FileSystem.makeFolder(folder)
    let options = [
      Bytes("add"), Bytes("--no-start"), Bytes("-n"), Self.hostile, Bytes("-C"), folder,
    ]
    let program = [Bytes("sh"), Bytes("-c"), Bytes(#"printf '%s\n' "$1"; exit 3"#), Bytes("sh")]
    for command in [
      program + [Self.hostile], [Bytes("--"), Self.hostile], [Bytes("-c"), Self.hostile],
    ] {
      let added = try scene.serialq(options + command)
      #expect(added.code == 0, "\(added.errorText)")
    }
    #expect(try scene.serialq([Bytes("set"), Bytes("on-finish"), Self.hostile]).code == 0)
  }

  // Fails if one of these is printed unescaped: remove `Visible` or `ShellQuote` from any of them.
  @Test("no label, command, directory, log or variable prints control sequences")
  func looking() throws {
    try fill()
    #expect(try scene.serialq("run").code == 1)
    #expect(try scene.serialq([Bytes("add"), Bytes("--no-start"), Self.hostile]).code == 0)
    for (line, code) in [
      ("serialq", 0), ("serialq list", 0), ("serialq show 1", 0), ("serialq show 2", 0),
      ("serialq show 3", 0), ("serialq show --env 1", 0), ("serialq set", 0), ("serialq queues", 0),
      ("serialq report", 0),
      ("serialq report --html -", 0), ("serialq wait 1", 3), ("serialq wait 2", 127),
      ("serialq list --json", 0),
      ("serialq show --json 1", 0), ("serialq status --json", 0), ("serialq queues --json", 0),
      ("serialq add --no-start -n \"$H\" -- \"$H\"", 0), ("serialq cancel 4", 0),
      ("serialq cancel 1", 125), ("serialq move 1 --first", 125),
      ("EDITOR=false serialq edit 1", 125),
      ("EDITOR=\"false '$H'\" serialq edit 5", 125),
      ("serialq edit 5 -e \"A=$H\" -- \"$H\" x", 0), ("serialq edit 5 --after \"$H\"", 125),
      ("serialq ack --all", 0),
      ("serialq retry 1", 0), ("serialq clean --all", 0),
    ] {
      let seen = try start(line).wait()
      #expect(seen.code == code, "\(line): \(Visible.text(seen.output))")
      #expect(steering(seen.output).isEmpty, "\(line): \(Visible.text(seen.output))")
    }
  }

  // Fails if a message quotes a name unescaped.
  @Test("no name and no variable's value prints control sequences in a message")
  func messages() throws {
    for line in [
      "serialq -q \"$H\" list", "SERIALQ_QUEUE=\"$H\" serialq list", "serialq \"$H\"",
      "SERIALQ_DIR=\"$H\" serialq list", "SERIALQ_DIR=\"/$H/$H\" serialq list --\"$H\"",
      "SERIALQ_DIR=\"$PWD/$H\" sh -c 'mkdir -m 770 \"$SERIALQ_DIR\"; serialq list'",
      "SERIALQ_DIR=\"$PWD/2$H\" sh -c ': >\"$SERIALQ_DIR\"; serialq add true'",
      "SERIALQ_DIR=\"$PWD/2$H/3\" serialq add true", "serialq add -f \"$H\"",
      "XDG_STATE_HOME=\"$H\" SERIALQ_DIR= serialq queues", "serialq show \"$H\"",
      "serialq add --timeout \"$H\" true", "serialq add -e \"$H\" true", "serialq help \"$H\"",
    ] {
      let seen = try start(line).wait()
      #expect(seen.code == 125, "\(line): \(Visible.text(seen.output))")
      #expect(steering(seen.output).isEmpty, "\(line): \(Visible.text(seen.output))")
    }
  }

  // Fails if a title, or the incomplete last line of a job, is drawn unescaped.
  @Test("the displays of run and status -w draw no control sequences")
  func live() throws {
    let line = Bytes("printf '%s' '") + Self.hostile + Bytes("'; read x <gate")
    let added = try scene.serialq(
      [Bytes("add"), Bytes("--no-start"), Bytes("-n"), Self.hostile, Bytes("-c"), line])
    #expect(added.code == 0)
    let run = try start("serialq run")
    // The last state of the line: the text before its carriage return is overwritten.
    try run.waitForOutput("| \u{1B}[0mover^H")
    #expect(steering(run.output, isDrawn: true).isEmpty, "\(Visible.text(run.output))")
    let watch = try start("serialq -w")
    try watch.waitForOutput("| \u{1B}[0mover^H")
    #expect(steering(watch.output, isDrawn: true).isEmpty, "\(Visible.text(watch.output))")
    try gate.open()
    #expect(try run.wait().code == 0)
  }
}
