import SerialqQueue
import SerialqSystem
import SerialqWatch
import TestSupport
import Testing

/// The display of `run`, captured from a terminal.
@Suite(.beside, .needs(.tmux, .bash))
final class LiveRunTests: SceneSuite {
  // Fails if the display is not below the output, does not follow the queue, or is left behind.
  @Test("run shows the running job and the progress below the output, and removes both at the end")
  func eighty() throws {
    let terminal = try Terminal(scene)
    try scene.add("echo one; exit 3", "echo two; read x <gate; echo over", "echo three")
    try terminal.type("serialq run")
    try terminal.waitForScreen(
      """
      $ serialq run
      [1] echo one; exit 3
      one
      [1] failed with exit code 3 after TIME
      [2] echo two; read x <gate; echo over
      two
      [2] echo two; read x <gate; echo over TIME
      [!!!!!!>............] 1 of 3 done, 1 failed
      """)
    try gate.open()
    try terminal.waitForScreen(
      """
      $ serialq run
      [1] echo one; exit 3
      one
      [1] failed with exit code 3 after TIME
      [2] echo two; read x <gate; echo over
      two
      over
      [2] succeeded after TIME
      [3] echo three
      three
      [3] succeeded after TIME
      serialq: 2 of 3 succeeded
      Output of job 1: serialq log 1
      $
      """)
  }

  // Fails if a failure looks like a success.
  @Test("a failed result is red, unless colors are refused", arguments: ["", "1"])
  func failure(refusal: String) throws {
    let terminal = try Terminal(scene, variables: ["NO_COLOR=\(refusal)"])
    try terminal.type("clear; serialq run 'exit 3'")
    try terminal.waitFor("the end") { $0.last == "$" && $0.count > 2 }
    let line = try terminal.screen(colors: true).first { $0.contains("[1] failed") }
    #expect(line?.contains("\u{1B}[31m[1] failed with exit code 3") == refusal.isEmpty)
  }

  // Fails if nothing is shown, or it is left behind.
  @Test("wait shows what it waits for, and removes it at the end")
  func wait() throws {
    let terminal = try Terminal(scene)
    try scene.add("read x <gate; exit 3", "true")
    try terminal.type("clear; serialq wait; serialq wait 1 --timeout 9; echo $?")
    try terminal.waitForScreen(
      """
      [1] read x <gate; exit 3 TIME
      Waiting for queue default: 1 running, 1 waiting.
      [>..................] 0 of 2 done
      """)
    try gate.open()
    let title = "job 1 failed with exit code 3 after TIME: read x <gate; exit 3"
    try terminal.waitFor("the end") { screen in
      screen.map { $0.replacing(/after \S+:/, with: "after TIME:") } == [
        "serialq: \(title)", "Output of job 1: serialq log 1", "Mark as seen: serialq ack --all",
        "serialq: \(title)", "Output of job 1: serialq log 1", "3", "$",
      ]
    }
  }

  // Fails if each line that a narrower terminal wrapped counts as one row.
  //
  // The display shows days, so that its text stays the same: tmux notifies a program of its
  // new size up to a quarter of a second after the screen has it, and a frame in between finds
  // other rows.
  @Test("a terminal that is resized during a run is left without garbage")
  func resized() throws {
    let terminal = try Terminal(scene)
    let add = try scene.serialq(
      "add", "--no-start", "--retries", "1", "--retry-delay", "10d", "seq 30; exit 1")
    #expect(add.code == 0)
    try terminal.type("clear; serialq run 2>/dev/null")
    /// The whole content, with the scrollback.
    func wait(_ display: String...) throws {
      let numbers = (1...30).map(String.init)
      try terminal.waitFor("\n\(display.joined(separator: "\n"))") { $0 == numbers + display }
    }
    try wait("Job 1 will be retried in 9d 23h.", "[...................] 0 of 1 done")
    for _ in 1...3 {
      try terminal.resize(columns: 20, rows: 24)
      try wait("Job 1 will be retr…", "[.....] 0 of 1 done")
      try terminal.resize(columns: 40, rows: 24)
      try wait("Job 1 will be retried in 9d 23h.", "[.........] 0 of 1 done")
      try terminal.resize(columns: 80, rows: 24)
      try wait("Job 1 will be retried in 9d 23h.", "[...................] 0 of 1 done")
    }
    try terminal.resize(columns: 40, rows: 4)
    try wait("Job 1 will be retried in 9d 23h.", "[.........] 0 of 1 done")
    try terminal.press("C-c")
    // The shell ends the line of a program that a signal has ended.
    try wait("", "$")
  }

  // Fails if an incomplete line of a job is drawn unescaped.
  @Test("a redrawn line is shown in its last state, without control sequences")
  func openLines() throws {
    let terminal = try Terminal(scene)
    try scene.add(
      "printf 'a\\n10%%\\r50%%'; read x <gate; printf '\\r60%%\\033[2J\\007'; read x <gate; echo; :"
    )
    try terminal.type("clear; serialq run 2>/dev/null")
    func shown(_ line: String) -> String {
      """
      a
      | \(line)
      [1] printf 'a\\n10%%\\r50%%'; read x <gate; printf '\\r60%%\\033[2J\\007'; … TIME
      [>..................] 0 of 1 done
      """
    }
    try terminal.waitForScreen(shown("50%"))
    try gate.open()
    try terminal.waitForScreen(shown("60%^[[2J^G"))
    try gate.open()
    // After its end it is the job's own output, and is printed unchanged: this one clears the
    // screen.
    try terminal.waitForScreen("a\n60%\n\n\n$")
  }

  // Fails if anything but text is written to a dumb terminal, or a line is delayed.
  @Test("on a dumb terminal there are plain lines, and output is printed at once")
  func dumb() throws {
    let terminal = try Terminal(scene)
    try scene.add("printf 'half a line'; read x <gate; printf ', and the rest'")
    try terminal.type("clear; TERM=dumb serialq run", until: "half a line")
    #expect(try terminal.screen().last == "half a line")
    try gate.open()
    try terminal.waitForScreen(
      """
      [1] printf 'half a line'; read x <gate; printf ', and the rest'
      half a line, and the rest
      [1] succeeded after TIME
      serialq: 1 of 1 succeeded
      $
      """)
  }

  // Fails if the display stays, the terminal's modes are changed, or the cursor is hidden.
  @Test("Ctrl-C stops the job and leaves the terminal unchanged")
  func interrupted() throws {
    let terminal = try Terminal(
      scene, typing: "stty -g >before; clear; serialq run 'echo begun; read x <gate'")
    try terminal.waitForLine("[>..................] 0 of 1 done")
    #expect(try terminal.isCursorShown())
    try terminal.press("C-c")
    try terminal.waitForScreen(
      """
      queued job 1
      [1] echo begun; read x <gate
      begun
      [1] was cancelled after TIME
      serialq: stopped by SIGINT; nothing waits

      $
      """)
    try terminal.type("stty -g | cmp - before && echo same", until: "same")
    #expect(try terminal.isCursorShown())
  }

  // Fails if the display stays in the shell's output, is drawn while stopped or in the background,
  // or does not return.
  @Test("Ctrl-Z removes the display for the shell, and fg restores it")
  func stopped() throws {
    let terminal = try Terminal(scene, typing: "clear; serialq run 'read x <gate' 2>/dev/null")
    let bar = "[>..................] 0 of 1 done"
    for _ in 1...2 {
      try terminal.waitFor("the bar") { $0.last == bar }
      try terminal.press("C-z")
      let stopped = try terminal.waitFor("the prompt") { $0.last == "$" }
      #expect(!stopped.contains(bar))
      try terminal.type("clear; fg")
    }
    try terminal.waitForScreen(
      "serialq run 'read x <gate' 2> /dev/null\n[1] read x <gate TIME\n\(bar)")
    try terminal.press("C-z")
    try terminal.waitFor("the prompt") { $0.last == "$" }
    // Each prompt is recognized by what is above it: the one before is still there.
    try terminal.type("clear; bg")
    try terminal.waitFor("the background") { $0.count == 2 && $0[0].hasSuffix("&") }
    try terminal.type("clear; wait; echo over")
    try gate.open()
    let end = try terminal.waitFor("the end") { $0.suffix(2) == ["over", "$"] }
    #expect(end.allSatisfy { !$0.contains("done") && !$0.contains(bar) })
    #expect(try scene.states() == [.succeeded])
  }

  // Fails if the job is in the terminal's session: a job that reads the terminal is stopped by
  // SIGTTIN, and the queue hangs.
  @Test("a job that opens the terminal fails because it has none, and the queue continues")
  func asking() throws {
    let terminal = try Terminal(scene)
    try scene.add("cat /dev/tty; echo left with $?", "echo next")
    try terminal.type("clear; serialq run")
    let screen = try terminal.waitFor("the end") { $0.last == "$" && $0.count > 1 }
    #expect(screen.contains("left with 1") && screen.contains("next"), "\(screen)")
    #expect(screen.contains { $0.hasPrefix("cat: /dev/tty: ") })
    #expect(try scene.states() == [.succeeded, .succeeded])
  }

  // Fails if the cursor is left inside the display, or a terminal mode has to be restored.
  @Test("after a kill -9 the prompt is below the display, on its own line")
  func killed() throws {
    let terminal = try Terminal(
      scene, typing: "clear; serialq run 'echo $PPID >pid; read x <gate' 2>/dev/null")
    let bar = "[>..................] 0 of 1 done"
    try terminal.waitFor("the bar") { $0.last == bar }
    try scene.waitForFile("pid", "\n")
    let pid = try #require(Int32(content(scene.path("pid")).text.dropLast()))
    kill(pid, SIGKILL)
    let screen = try terminal.waitFor("the prompt") { $0.last == "$" }
    #expect(screen.first == "[1] echo $PPID >pid; read x <gate TIME")
    #expect(screen[1] == bar && screen[2].hasPrefix("Killed"))
    #expect(try terminal.isCursorShown())
    try gate.open()
  }
}
