import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// `status -w`, captured from a terminal, and without one.
@Suite(.needs(.tmux, .bash))
final class LiveStatusTests: SceneSuite {
  // Fails if it misses an event, shows an old state, or exits on its own.
  @Test("status -w follows the queue, and Ctrl-C ends it like any program")
  func watch() throws {
    let terminal = try Terminal(scene, typing: "clear; serialq -w")
    try terminal.waitForScreen(
      """
      Queue default is empty.
      Add a job:     serialq add 'make test'
      All commands:  serialq help
      """)
    try scene.add("echo oh; exit 3", "printf '1%%\\r2%%'; read x <gate", "true")
    try terminal.waitForScreen(
      """
      3 waiting, next is job 1: echo oh; exit 3
      No runner is active.
      [...................] 0 of 3 done

      Run them here:  serialq run
      In background:  serialq start
      """)
    let run = try scene.start("run")
    try terminal.waitForScreen(
      """
      Job 1: echo oh; exit 3
        failed with exit code 3 after TIME, just now
        | oh

      Job 2: printf '1%%\\r2%%'; read x <gate
        running for TIME
        | 2%

      1 waiting, next is job 3: true
      [!!!!!!>............] 1 of 3 done, 1 failed

      See why:       serialq log 1
      Run again:     serialq retry 1
      Mark as seen:  serialq ack 1
      Watch:         serialq log -f
      End it:        serialq cancel 2
      """)
    try gate.open()
    let end = """
      Job 1: echo oh; exit 3
        failed with exit code 3 after TIME, just now
        | oh

      No job is running or waiting: 2 succeeded, 1 failed.
      Finished just now, after TIME.

      See why:       serialq log 1
      Run again:     serialq retry 1
      Mark as seen:  serialq ack 1
      """
    try terminal.waitForScreen(end)
    #expect(try run.wait().code == 1)
    try terminal.press("C-c")
    try terminal.waitForScreen("\(end)\n^C\n$")
    try terminal.type("echo ended $?", until: "ended 130")
  }

  // Fails if a line wraps at a width, or resizing leaves text behind.
  @Test("status -w fits any terminal, also after a resize")
  func sizes() throws {
    let terminal = try Terminal(scene, columns: 40, rows: 20)
    let words = "日本語ドキュメント 日本語ドキュメント 日本語ドキュメント"
    #expect(try scene.serialq("run", "echo \(words); exit 1").code == 1)
    try terminal.type("clear; seq 30; serialq -w")
    let numbers = (1...30).map(String.init)
    func wait(_ lines: [String]) throws {
      let advice = [
        "", "See why:       serialq log 1", "Run again:     serialq retry 1",
        "Mark as seen:  serialq ack 1",
      ]
      try terminal.waitFor(lines.joined(separator: "\n")) { $0 == numbers + lines + advice }
    }
    let all = [
      "Job 1: echo \(words); exit 1", "  failed with exit code 1 after TIME, just now",
      "  | \(words)", "", "No job is running or waiting: 1 failed.",
      "Finished just now, after TIME.",
    ]
    let narrow = [
      "Job 1: echo 日本語ドキュメント 日本語…", "  failed with exit code 1 after TIME, …",
      "  | 日本語ドキュメント 日本語ドキュメ…", "", all[4], all[5],
    ]
    for _ in 1...2 {
      try wait(narrow)
      try terminal.resize(columns: 80, rows: 20)
      try wait(all)
      try terminal.resize(columns: 40, rows: 24)
    }
    try wait(narrow)
  }

  // Fails if a part of the running job, or an empty line, takes the place of another part.
  @Test("with three rows, status -w shows that jobs are open, and the running one")
  func rows() throws {
    #expect(try scene.serialq("run", "false").code == 1)
    try scene.add("read x <gate")
    let run = try scene.start("run")
    let terminal = try Terminal(scene, columns: 20, rows: 3)
    try terminal.type("clear; serialq -w")
    try terminal.waitForScreen("1 open\nJob 2: read x <gate")
    try terminal.press("C-c")
    try gate.open()
    #expect(try run.wait().code == 0)
  }

  // Fails if anything but lines of text is printed without a terminal, or the end of a job is
  // missed.
  @Test("without a terminal, status -w prints a line for each job that begins or ends")
  func plain() throws {
    try scene.add("read x <gate")
    let watch = try scene.start("status", "-w").waitForOutput(
      "1 waiting, next is job 1: read x <gate\n")
    try scene.add("read x <gate; exit 3")
    try watch.waitForOutput("job 2 waits: ")
    let run = try scene.start("run")
    try watch.waitForOutput("job 1 begins: read x <gate\n")
    try gate.open()
    try watch.waitForOutput("job 2 begins: read x <gate; exit 3\n")
    try gate.open()
    #expect(try run.wait().code == 1)
    try watch.waitForOutput("job 2 failed with exit code 3 after ")
    let outcome = try watch.end(SIGINT)
    #expect(outcome.status == .killed(SIGINT))
    #expect(outcome.errors.isEmpty && !outcome.output.contains(0x1B))
    let reported = outcome.text.split(separator: "\n").suffix(5).map { $0.prefix(12) }
    #expect(
      reported == ["job 2 waits:", "job 1 begins", "job 1 succee", "job 2 begins", "job 2 failed"])
  }

  // Fails if only the last change of a job is reported that changes twice between two reads.
  @Test("without a terminal, status -w prints a line for each change, however fast they are")
  func fast() throws {
    try scene.add("true")
    let watch = try scene.start("status", "-w").waitForOutput("1 waiting, next is job 1: true\n")
    watch.send(SIGSTOP)
    #expect(try scene.serialq("run").code == 0)
    watch.send(SIGCONT)
    try watch.waitForOutput("job 1 succeeded")
    let reported = try watch.end(SIGINT).text.split(separator: "\n").suffix(2).map { $0.prefix(12) }
    #expect(reported == ["job 1 begins", "job 1 succee"])
  }
}
