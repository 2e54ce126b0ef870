import SerialqSystem
import Testing

/// `edit` in a terminal.
@Suite final class EditTests: SceneSuite {
  // Fails if Ctrl-C ends edit, or the shell that runs the editor: the text would be lost.
  @Test("Ctrl-C in the editor is left to the editor", .needs(.tmux, .bash))
  func interrupt() throws {
    #expect(try scene.serialq("pause").code == 0)
    try scene.add("true")
    let editor = "#!/bin/sh\ntrap 'echo echo typed >\"$1\"; exit 0' INT\necho up\nread x <gate\n"
    try writeProgram(Bytes(editor.utf8), to: scene.path("editor"))
    let terminal = try Terminal(scene, variables: ["VISUAL=./editor"])
    try terminal.type("clear; serialq edit 1", until: "up")
    try terminal.press("C-c")
    try terminal.waitForLine("^Cserialq: job 1 is changed: echo typed")
  }
}
