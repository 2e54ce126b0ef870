import Foundation
import SerialqQueue
import SerialqSystem
import SerialqWatch
import TestSupport
import Testing

/// What commands show of a job that asks something on its terminal, and of its terminal.
@Suite(.beside) final class QuestionTests: SceneSuite {
  /// Adds job 1, which asks, and waits for the answer.
  private func ask() throws {
    let line = "printf 'Continue? '; read x"
    #expect(try scene.serialq("add", "-t", "-n", "deploy", line).code == 0)
    try scene.waitForJob(1) { $0.question?.kind == .input }
  }

  private func end() throws {
    #expect(try scene.serialq("cancel", "1").code == 0)
    #expect(try scene.serialq("wait").code == 0)
    #expect(try !scene.serialq().text.contains("attach"))
  }

  // Fails if the question is missing, a guess is stated as a fact, or the prompt is shown twice.
  @Test("status, list, queues and show say what a job asks, and status how to answer it")
  func shown() throws {
    try ask()
    let status = try scene.serialq().text
    #expect(status.contains("\n  seems to wait for input: Continue?\n"), "\(status)")
    #expect(status.contains("\nAnswer it:  serialq attach 1\n"), "\(status)")
    #expect(!status.contains("| Continue?"))
    #expect(try scene.serialq("list").text.contains("asking"))
    #expect(try scene.serialq("list", "--state", "running").text.contains("asking"))
    #expect(try scene.serialq("queues").text.contains("job 1 asks"))
    let shown = try scene.serialq("show", "1").text
    #expect(shown.contains("seems to wait for input: Continue?\n"), "\(shown)")
    try end()
  }

  // Fails if the members are missing, or differ between the commands.
  @Test("JSON has the question of a job as an object, and null when it asks nothing")
  func json() throws {
    try ask()
    func job(_ words: String...) throws -> [String: Any] {
      let outcome = try scene.serialq(words)
      let object = try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any]
      let list = object?["jobs"] as? [[String: Any]]
      return try #require(list?.first ?? object?["running"] as? [String: Any] ?? object)
    }
    for job in try [job("list", "--json"), job("show", "--json", "1"), job("status", "--json")] {
      #expect(job["asks"] as? [String: String] == ["kind": "input", "text": "Continue?"])
      #expect(job["tty"] as? Bool == true && job["unlogged"] is NSNull)
    }
    try end()
    let over = try job("show", "--json", "1")
    #expect(over["asks"] is NSNull && over["tty"] as? Bool == true)
    #expect(try scene.serialq("add", "--no-start", "true").code == 0)
    #expect(try job("show", "--json", "2")["tty"] as? Bool == false)
  }

  // Fails if the line is missing, or is printed again for each event.
  @Test("status -w without a terminal prints a line for a question")
  func lines() throws {
    #expect(
      try scene.serialq("add", "-t", "-c", "read x <gate; printf 'Continue? '; read x").code == 0)
    _ = try scene.waitForProcess(of: 1)
    let watch = try scene.start("status", "-w").waitForOutput("End it:")
    try gate.open()
    try watch.waitForOutput(
      "job 1 seems to wait for input: Continue? (answer it: serialq attach 1)\n")
    #expect(try scene.serialq("cancel", "1").code == 0)
    try watch.waitForOutput("job 1 was cancelled")
    let text = try watch.end(SIGINT).text
    #expect(text.components(separatedBy: "Continue? (answer").count == 2, "\(text)")
  }

  // Fails if the size is not that of the terminal of the call, or the setting is taken for it.
  @Test("show says which terminal the job has")
  func terminal() throws {
    #expect(try scene.serialq("add", "--no-start", "-t", "true").code == 0)
    #expect(try scene.serialq("add", "--no-start", "true").code == 0)
    #expect(try scene.serialq("show", "1").text.contains("\nterminal   its own\n"))
    #expect(try !scene.serialq("show", "2").text.contains("terminal"))
    #expect(try scene.serialq("set", "tty", "on").code == 0)
    #expect(try scene.serialq("run").code == 0)
    let shown = try scene.serialq("show", "2").text
    #expect(shown.contains("\nterminal   its own, by the settings of the queue\n"), "\(shown)")
  }
}

/// The live displays of a job that asks something on its terminal.
@Suite(.beside, .needs(.tmux, .bash))
final class LiveQuestionTests: SceneSuite {
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
